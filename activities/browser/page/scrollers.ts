/// <reference lib="dom" />

// Each function is sent to the page as source code and runs there on its own, so it must contain everything it uses.

/** Attribute that marks the element that scrolls instead of the document. */
export const SCROLLER = 'data-capture-scroller';

/**
 * Finds the scroll container: the document, or, if the document fits the viewport, the largest overflowing element that
 * covers at least half of the viewport. Sets the attribute `mark` on that element.
 *
 * @returns the scroll height of the scroll container in CSS pixels
 */
export function findScroller(mark: string): number {
  const page = document.scrollingElement ?? document.documentElement;
  if (page.scrollHeight > innerHeight + 1) return page.scrollHeight;
  let best: Element | null = null;
  for (const element of document.querySelectorAll('body, body *')) {
    if (element.scrollHeight <= element.clientHeight + 1) continue;
    const { overflowY } = getComputedStyle(element);
    if (overflowY !== 'auto' && overflowY !== 'scroll' && overflowY !== 'overlay') continue;
    const { width, height } = element.getBoundingClientRect();
    if (width * height < (innerWidth * innerHeight) / 2) continue;
    if (best === null || element.scrollHeight > best.scrollHeight) best = element;
  }
  if (best === null) return page.scrollHeight;
  best.setAttribute(mark, '');
  return best.scrollHeight;
}

/**
 * Scrolls to `top` without animation, and waits until intersection observers have been notified.
 *
 * @returns the current scroll height
 */
export async function scrollTo(mark: string, top: number): Promise<number> {
  const scroller =
    document.querySelector(`[${mark}]`) ?? document.scrollingElement ?? document.documentElement;
  scroller.scrollTo({ top, behavior: 'instant' });
  // Intersection observers are notified at the end of an animation frame, so wait for two of them.
  for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
  return scroller.scrollHeight;
}

/** Returns the height of the content of the marked element or the document, in CSS pixels. */
export const scrollHeight = (mark: string): number =>
  (document.querySelector(`[${mark}]`) ?? document.scrollingElement ?? document.documentElement).scrollHeight;

/**
 * Expands the marked scroll container and its ancestors to the height of the content, so that the page shows all of it.
 */
export function expandScroller(mark: string): void {
  const scroller = document.querySelector<HTMLElement>(`[${mark}]`);
  if (scroller === null) return;
  const height = scroller.scrollHeight;
  for (let element: HTMLElement | null = scroller; element !== null; element = element.parentElement) {
    for (const property of ['height', 'max-height', 'overflow', 'contain'])
      element.style.setProperty(
        property,
        { height: 'auto', 'max-height': 'none', overflow: 'visible', contain: 'none' }[property] ?? '',
        'important',
      );
    // An element out of the normal flow does not add to the height of the page, so put it into the flow.
    if (['fixed', 'absolute'].includes(getComputedStyle(element).position))
      element.style.setProperty('position', 'relative', 'important');
  }
  scroller.style.setProperty('min-height', `${height}px`, 'important');
}
