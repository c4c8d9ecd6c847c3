/// <reference lib="dom" />
import type { Candidate } from './candidate.ts';
import { elementsIn } from './text.ts';

// These functions run in the page, where they are defined under their names and call each other. Names must therefore
// be unique in this folder.

/** Whether an element is the only content of the page. */
export function isOnlyContent({ text, textBeside, imagesBeside }: Candidate): boolean {
  return text !== '' && textBeside < 20 && imagesBeside === 0;
}

/** Whether the page has content outside the element. */
export function hasContentBeside({ textBeside, imagesBeside }: Candidate): boolean {
  return textBeside >= 60 || imagesBeside > 2;
}

/** Whether a visible descendant of the element matches a CSS selector. */
export function containsAny({ element }: Candidate, selector: string): boolean {
  return elementsIn(element).some((each) => each.matches(selector) && each.checkVisibility());
}

/** Whether the element is marked as a modal dialog. */
export function isDialog({ element }: Candidate): boolean {
  return element.matches('dialog:modal, [aria-modal="true"]');
}

/** Whether an element is or contains a part of the page's structure, such as a header, footer, menu or side bar. */
export function isNavigation(candidate: Candidate): boolean {
  const PARTS =
    'header, nav, aside, footer, main, [role="navigation"], [role="banner"], [role="contentinfo"], [role="main"], [role="toolbar"]';
  return (
    candidate.element.matches(PARTS) ||
    containsAny(candidate, 'nav, [role="navigation"], [role="search"], input[type="search"], table, article')
  );
}

/**
 * Whether an element contains most of the page's text, such as the root of an application or an element that scrolls
 * instead of the page.
 */
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

/** Whether an element is a heading, list item or table cell: pages often keep these visible while their section scrolls. */
export function isStickyHeading({ element }: Candidate): boolean {
  return element.matches('h1, h2, h3, h4, h5, h6, thead, tr, th, td, li, dt, dd, summary, caption');
}

/** Whether an element is a sticky section of the page that is as tall as the viewport. */
export function isStickySection({ element, style, share }: Candidate): boolean {
  return style.position === 'sticky' && (share === 0 || element.clientHeight >= 0.9 * innerHeight);
}
