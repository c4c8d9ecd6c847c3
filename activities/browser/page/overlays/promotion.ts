/// <reference lib="dom" />
import { isDialog, liesOverPage } from './part.ts';
import type { Sight } from './sight.ts';
import { everythingIn, nameOf, type Words } from './text.ts';

// These run in the page, where they know each other by their names.

/** How many prices an element shows: one that shows some sells something. */
export function pricesIn({ text }: Sight): number {
  return text.match(/[€$£¥₹₽₩₺]\s?\d|\d\s?(?:€|£|¥|₽|zł|kr\b|Kč|Ft\b|lei\b|USD|EUR)/gu)?.length ?? 0;
}

/** A newsletter, an offer, an app, asked or offered in a box or a bar that can be left. */
export function advertises(sight: Sight, words: Words): boolean {
  if (sight.work || sight.ticks || sight.atSide || sight.links > 3 || sight.text.length > 1_500) return false;
  if (pricesIn(sight) > 1 || !words.promotion.test(sight.titled)) return false;
  if (sight.closes) return true;
  const over = isDialog(sight) || sight.veil || (sight.central && sight.blocked);
  const loose = sight.style.position === 'fixed' && !sight.atTop;
  return over ? sight.asksLine || sight.any : loose && sight.asksAddress;
}

/** A box over the middle of a page that is held up until it is left, whatever it says. */
export function interrupts(sight: Sight): boolean {
  if (sight.work || sight.atSide || pricesIn(sight) > 0 || sight.text.length > 1_500) return false;
  if (!liesOverPage(sight)) return false;
  if (sight.text === '' || sight.share < 0.03 || (sight.share > 0.8 && !sight.covers)) return false;
  // A picture, and hardly a word: somebody is looking at it.
  if (sight.pictures > 0 && sight.text.length < 60 && !sight.asksLine) return false;
  if (isDialog(sight)) return sight.any;
  if (sight.veil || (sight.blocked && sight.central)) return sight.closes || sight.asksLine;
  const said = sight.element.matches('[role="dialog"], [role="alertdialog"]');
  return said && sight.central && sight.style.position === 'fixed' && sight.closes;
}

/** A large panel at the upper or lower end of the window that can be sent away. */
export function looms(sight: Sight): boolean {
  if (sight.work || sight.ticks || sight.links > 3 || pricesIn(sight) > 0 || sight.covers) return false;
  if (sight.style.position !== 'fixed' && !(sight.style.position === 'sticky' && sight.atBottom))
    return false;
  const atOneEnd = sight.wide && sight.atTop !== sight.atBottom;
  return sight.closes && atOneEnd && sight.share >= 0.15 && sight.share < 0.7;
}

/** What is put into pages under a name of its own, and says what it is by nothing else. */
export function isKnown(sight: Sight): boolean {
  const NAMES =
    /cookie|consent|gdpr|onetrust|didomi|usercentrics|trustarc|quantcast|sp_message|newsletter|subscribe-|popup|pop-up|interstitial|paywall|promo|adhesion|sticky-?ads?(?![a-z])|chat-?widget|intercom|drift-|smart-?app/i;
  if (sight.style.position !== 'fixed' || sight.atSide || sight.share > 0.6) return false;
  if (!NAMES.test(nameOf(sight.element))) return false;
  return sight.closes || (sight.atBottom && sight.wide && (sight.any || sight.share > 0.2));
}

/** A frame of somebody else's, into which nobody can look, over a page. */
export function isStrangeFrame(sight: Sight): boolean {
  const NAMES =
    /cookie|consent|gdpr|privacy|cmp|truste|sp_message|newsletter|popup|pop-up|promo|modal|overlay/i;
  if (sight.text !== '' || !liesOverPage(sight)) return false;
  const frame = [sight.element, ...everythingIn(sight.element)].find((each) => each.matches('iframe'));
  if (!(frame instanceof HTMLIFrameElement) || (frame.contentDocument?.body?.childElementCount ?? 0) > 0)
    return false;
  return sight.covers
    ? Number(sight.style.zIndex) > 0
    : sight.share > 0.02 &&
        NAMES.test(`${nameOf(sight.element)} ${frame.id} ${frame.className} ${frame.title}`);
}
