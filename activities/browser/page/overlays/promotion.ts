/// <reference lib="dom" />

import type { Candidate } from './candidate.ts';
import { hasContentBeside, isDialog } from './pageParts.ts';
import { elementsIn, nameOf, type Words } from './text.ts';

// These functions run in the page, where they are defined under their names and call each other. Names must therefore
// be unique in this folder.

/**
 * Returns the number of prices in an element's text. An element with several prices is an offer of the page itself, not
 * an advertisement over it.
 */
export function pricesIn({ text }: Candidate): number {
  return text.match(/[€$£¥₹₽₩₺]\s?\d|\d\s?(?:€|£|¥|₽|zł|kr\b|Kč|Ft\b|lei\b|USD|EUR)/gu)?.length ?? 0;
}

/**
 * Whether an element is a newsletter form, an offer or an advertisement for an app, in a dialog or banner that can be
 * closed or answered.
 */
export function isPromotion(candidate: Candidate, words: Words): boolean {
  if (
    candidate.isForm ||
    candidate.hasCheckboxes ||
    candidate.atSide ||
    candidate.links > 3 ||
    candidate.text.length > 1_500
  )
    return false;
  if (pricesIn(candidate) > 1 || !words.promotion.test(candidate.proseWithHeadings)) return false;
  if (candidate.closes) return true;
  const over = isDialog(candidate) || candidate.backdrop || (candidate.central && candidate.blocked);
  const loose = candidate.style.position === 'fixed' && !candidate.atTop;
  return over ? candidate.hasTextField || candidate.hasControls : loose && candidate.hasEmailField;
}

/**
 * Whether an element is a dialog that covers the middle of the page and blocks the page until it is closed, whatever
 * its text.
 */
export function isInterstitial(candidate: Candidate): boolean {
  if (candidate.isForm || candidate.atSide || pricesIn(candidate) > 0 || candidate.text.length > 1_500)
    return false;
  if (!hasContentBeside(candidate)) return false;
  if (candidate.text === '' || candidate.share < 0.03 || (candidate.share > 0.8 && !candidate.covers))
    return false;
  // An image with little text is a lightbox, which is content of the page.
  if (candidate.images > 0 && candidate.text.length < 60 && !candidate.hasTextField) return false;
  if (isDialog(candidate)) return candidate.hasControls;
  if (candidate.backdrop || (candidate.blocked && candidate.central))
    return candidate.closes || candidate.hasTextField;
  const isMarkedDialog = candidate.element.matches('[role="dialog"], [role="alertdialog"]');
  return isMarkedDialog && candidate.central && candidate.style.position === 'fixed' && candidate.closes;
}

/** Whether an element is a large banner at the top or bottom of the viewport that can be closed. */
export function isLargeBanner(candidate: Candidate): boolean {
  if (
    candidate.isForm ||
    candidate.hasCheckboxes ||
    candidate.links > 3 ||
    pricesIn(candidate) > 0 ||
    candidate.covers
  )
    return false;
  if (candidate.style.position !== 'fixed' && !(candidate.style.position === 'sticky' && candidate.atBottom))
    return false;
  const atOneEnd = candidate.wide && candidate.atTop !== candidate.atBottom;
  return candidate.closes && atOneEnd && candidate.share >= 0.15 && candidate.share < 0.7;
}

/** Whether an element is fixed and its id or class is that of a known consent, chat or advertising product. */
export function hasOverlayName(candidate: Candidate): boolean {
  const NAMES =
    /cookie|consent|gdpr|onetrust|didomi|usercentrics|trustarc|quantcast|sp_message|newsletter|subscribe-|popup|pop-up|interstitial|paywall|promo|adhesion|sticky-?ads?(?![a-z])|chat-?widget|intercom|drift-|smart-?app/i;
  if (candidate.style.position !== 'fixed' || candidate.atSide || candidate.share > 0.6) return false;
  if (!NAMES.test(nameOf(candidate.element))) return false;
  return (
    candidate.closes ||
    (candidate.atBottom && candidate.wide && (candidate.hasControls || candidate.share > 0.2))
  );
}

/** Whether an element is or contains a cross-origin frame that lies over the page. */
export function isForeignFrame(candidate: Candidate): boolean {
  const NAMES =
    /cookie|consent|gdpr|privacy|cmp|truste|sp_message|newsletter|popup|pop-up|promo|modal|overlay/i;
  if (candidate.text !== '' || !hasContentBeside(candidate)) return false;
  const frame = [candidate.element, ...elementsIn(candidate.element)].find((each) => each.matches('iframe'));
  if (!(frame instanceof HTMLIFrameElement) || (frame.contentDocument?.body?.childElementCount ?? 0) > 0)
    return false;
  return candidate.covers
    ? Number(candidate.style.zIndex) > 0
    : candidate.share > 0.02 &&
        NAMES.test(`${nameOf(candidate.element)} ${frame.id} ${frame.className} ${frame.title}`);
}
