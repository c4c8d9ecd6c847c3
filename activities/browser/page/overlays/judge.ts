/// <reference lib="dom" />
import { asksConsent } from './consent.ts';
import { holdsLandmarks, holdsPage, isAlone, isDialog, isFurniture, isHead, isScreen } from './part.ts';
import { advertises, interrupts, isKnown, isStrangeFrame, looms } from './promotion.ts';
import { isVeil, type Sight, sightOf, type Whole } from './sight.ts';
import { textOf, type Words } from './text.ts';

// These run in the page, where they know each other by their names.

/** Whether an element lies over the page and is not part of it. */
export function isOverlay(sight: Sight, words: Words): boolean {
  if (isAlone(sight)) return false;
  if (isStrangeFrame(sight) || isVeil(sight.element)) return true;
  const consent = asksConsent(sight, words);
  if (isScreen(sight) || isHead(sight)) return false;
  if (holdsPage(sight, consent)) return false;
  if (isFurniture(sight))
    return (
      (consent && sight.links <= 3 && !holdsLandmarks(sight, 'nav, [role="navigation"], [role="search"]')) ||
      (isDialog(sight) && interrupts(sight))
    );
  return consent || advertises(sight, words) || interrupts(sight) || looms(sight) || isKnown(sight);
}

/** Whether an element stays where it is while the page is scrolled, or lies over it otherwise. */
export function floats(element: Element): boolean {
  const { position, zIndex } = getComputedStyle(element);
  if (position === 'fixed' || position === 'sticky') return true;
  if (position === 'absolute' && Number(zIndex) >= 100) return true;
  return element.matches('dialog[open], [popover]:popover-open, [aria-modal="true"]');
}

/** A bar in the flow above everything else, which says by its name that it asks for consent. */
export function standsOnTop(element: Element): boolean {
  if (!/cookie|consent|gdpr/i.test(`${element.id} ${element.getAttribute('class') ?? ''}`)) return false;
  const { top, width } = element.getBoundingClientRect();
  const onTop = top + scrollY < 50 && width > 0.8 * innerWidth;
  return onTop && element.closest('main, article, [role="main"]') === null && textOf(element).length < 1_500;
}

/** Whether an element is to be seen, is held over the page, and is no part of it. */
export function liesOver(element: Element, whole: Whole, words: Words): boolean {
  const floating = floats(element);
  if (!floating && !standsOnTop(element)) return false;
  if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
  // Nothing that asks or offers says as much.
  if (textOf(element).length > 5_000) return false;
  const sight = sightOf(element, whole, words);
  const { position } = sight.style;
  if (floating && (position !== 'absolute' || sight.covers || sight.blocked)) return isOverlay(sight, words);
  const consent = asksConsent(sight, words);
  return consent && !isAlone(sight) && !holdsPage(sight, consent);
}
