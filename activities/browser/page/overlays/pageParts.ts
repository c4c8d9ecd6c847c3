/// <reference lib="dom" />
import type { Candidate } from './candidate.ts';
import { elementsIn } from './text.ts';

// These functions run in the page. They call each other by name, so names are unique across this folder.

/** The element is the only content of the page. */
export function isOnlyContent({ text, textBeside, imagesBeside }: Candidate): boolean {
  return text !== '' && textBeside < 20 && imagesBeside === 0;
}

/** The page has content beside the element. */
export function hasContentBeside({ textBeside, imagesBeside }: Candidate): boolean {
  return textBeside >= 60 || imagesBeside > 2;
}

/** Whether a visible descendant matches a selector. */
export function containsAny({ element }: Candidate, selector: string): boolean {
  return elementsIn(element).some((each) => each.matches(selector) && each.checkVisibility());
}

/** Whether the element declares itself modal. */
export function isDialog({ element }: Candidate): boolean {
  return element.matches('dialog:modal, [aria-modal="true"]');
}

/** Headers, footers, menus and side bars. */
export function isNavigation(candidate: Candidate): boolean {
  const PARTS =
    'header, nav, aside, footer, main, [role="navigation"], [role="banner"], [role="contentinfo"], [role="main"], [role="toolbar"]';
  return (
    candidate.element.matches(PARTS) ||
    containsAny(candidate, 'nav, [role="navigation"], [role="search"], input[type="search"], table, article')
  );
}

/** The element has most of the text, such as the root of an application or an element that scrolls instead of the page. */
export function containsMainContent(candidate: Candidate, consent: boolean): boolean {
  if (candidate.element.matches('main, [role="main"]') || containsAny(candidate, 'main, [role="main"]'))
    return true;
  if (candidate.share < 0.4 || candidate.backdrop || isDialog(candidate)) return false;
  const wall =
    consent &&
    hasContentBeside(candidate) &&
    (candidate.text.length <= 1_000 || Number(candidate.style.zIndex) >= 1_000);
  return !wall && candidate.text.length > candidate.textBeside;
}

/** A heading, list item or table cell that is sticky while its section is scrolled. */
export function isStickyHeading({ element }: Candidate): boolean {
  return element.matches('h1, h2, h3, h4, h5, h6, thead, tr, th, td, li, dt, dd, summary, caption');
}

/** A sticky section of the page, as high as the viewport. */
export function isStickySection({ element, style, share }: Candidate): boolean {
  return style.position === 'sticky' && (share === 0 || element.clientHeight >= 0.9 * innerHeight);
}
