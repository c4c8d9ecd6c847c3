/// <reference lib="dom" />
import type { Sight } from './sight.ts';
import { everythingIn } from './text.ts';

// These run in the page, where they know each other by their names.

/** A page that is nothing but this is this. */
export function isAlone({ text, rest, picturesBeside }: Sight): boolean {
  return text !== '' && rest < 20 && picturesBeside === 0;
}

/** There is enough beside the element for a page that is complete without it. */
export function liesOverPage({ rest, picturesBeside }: Sight): boolean {
  return rest >= 60 || picturesBeside > 2;
}

/** What the page is about, or found its way about with, lies in the element. */
export function holdsLandmarks({ element }: Sight, selector: string): boolean {
  return everythingIn(element).some((each) => each.matches(selector) && each.checkVisibility());
}

/** Whether the page waits for an element, by what that says of itself. */
export function isDialog({ element }: Sight): boolean {
  return element.matches('dialog:modal, [aria-modal="true"]');
}

/** Headers, menus and side bars: what a page is found its way about with. */
export function isFurniture(sight: Sight): boolean {
  const PARTS =
    'header, nav, aside, footer, main, [role="navigation"], [role="banner"], [role="contentinfo"], [role="main"], [role="toolbar"]';
  return (
    sight.element.matches(PARTS) ||
    holdsLandmarks(sight, 'nav, [role="navigation"], [role="search"], input[type="search"], table, article')
  );
}

/** An application lies in its root, a page at times in its own scroller: most of what there is to read is in it. */
export function holdsPage(sight: Sight, consent: boolean): boolean {
  if (sight.element.matches('main, [role="main"]') || holdsLandmarks(sight, 'main, [role="main"]'))
    return true;
  if (sight.share < 0.4 || sight.veil || isDialog(sight)) return false;
  const wall =
    consent && liesOverPage(sight) && (sight.text.length <= 1_000 || Number(sight.style.zIndex) >= 1_000);
  return !wall && sight.text.length > sight.rest;
}

/** A heading, an entry or a cell that stays while one reads on. */
export function isHead({ element }: Sight): boolean {
  return element.matches('h1, h2, h3, h4, h5, h6, thead, tr, th, td, li, dt, dd, summary, caption');
}

/** A part of the page that stays once it is reached, until the next one comes. */
export function isScreen({ element, style, share }: Sight): boolean {
  return style.position === 'sticky' && (share === 0 || element.clientHeight >= 0.9 * innerHeight);
}
