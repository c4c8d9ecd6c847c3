/// <reference lib="dom" />
import { describeCandidate, measureContent } from './candidate.ts';
import { asksConsent } from './consent.ts';
import { compileWords, visibleTextOf } from './text.ts';

// These functions run in the page, where they are defined under their names and call each other. Names must therefore
// be unique in this folder.

/**
 * Runs in a frame.
 *
 * @param json an `OverlayPatterns` object as JSON
 * @returns whether the document of the frame is a consent dialog; null if it has elements without a text, which can be in closed shadow
 *   roots that are not known yet
 */
export function isConsentFrame(json: string): boolean | null {
  const SHOWN = 'img, picture, video, canvas, svg, iframe, object, embed';
  const { body } = document;
  const words = compileWords(json);
  const text = body === null ? '' : visibleTextOf(body);
  if (body === null || text.length > 5_000) return false;
  if (text === '')
    return body.querySelector(':not(script)') === null || body.querySelector(SHOWN) !== null ? false : null;
  return asksConsent(describeCandidate(body, measureContent(body), words), words);
}

/**
 * Runs in the page, on its own: hides a frame that lies over the page, and the boxes around it that have no other text.
 *
 * @returns whether the frame lies over the page and is not the page's only content
 */
export function hideFrameOver(frame: Element): boolean {
  const parentOf = (element: Element): Element | null => {
    const root = element.getRootNode();
    return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
  };
  const around: Element[] = [];
  for (let each: Element | null = frame; each !== null && each !== document.body; each = parentOf(each))
    around.push(each);
  const isOver = (element: Element): boolean => {
    const { position, zIndex } = getComputedStyle(element);
    return (
      ['fixed', 'sticky'].includes(position) ||
      (position === 'absolute' && Number(zIndex) >= 100) ||
      element.matches('dialog[open], [popover]:popover-open, [aria-modal="true"]')
    );
  };
  const MIN_TEXT = 20;
  if (!around.some(isOver) || document.body.textContent.trim().length < MIN_TEXT) return false;
  const last = around.findLastIndex((element) => isOver(element) && element.textContent?.trim() === '');
  for (const element of around.slice(0, last + 1).concat(frame))
    if (element instanceof HTMLElement) element.style.setProperty('display', 'none', 'important');
  return true;
}
