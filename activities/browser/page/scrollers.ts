/// <reference lib="dom" />

// Each of these runs in the page, so it holds all that it uses.

/** Attribute of the element that scrolls in place of the page, where there is one. */
export const SCROLLER = 'data-capture-scroller';

/**
 * Finds what a visitor would scroll: the page, or, where that fits the window, the element over most of the window that
 * does not show all it holds. Marks it, and tells how far it can be scrolled.
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

/** Scrolls to a height, at once, and tells how high the whole is by now. */
export function scrollTo(mark: string, top: number): number {
  const scroller =
    document.querySelector(`[${mark}]`) ?? document.scrollingElement ?? document.documentElement;
  scroller.scrollTo({ top, behavior: 'instant' });
  return scroller.scrollHeight;
}

/** Lets the marked element, and what it lies in, be as high as what it holds, so that the page shows all of it. */
export function unfold(mark: string): void {
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
    // Out of the flow it would not make the page any higher.
    if (['fixed', 'absolute'].includes(getComputedStyle(element).position))
      element.style.setProperty('position', 'relative', 'important');
  }
  scroller.style.setProperty('min-height', `${height}px`, 'important');
}
