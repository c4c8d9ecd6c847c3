/// <reference lib="dom" />
import { elementsBelow, findMarked, flatParentOf } from './elements.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/** Attribute that marks the element that scrolls instead of the document. */
export const SCROLLER = 'data-capture-scroller';

/** Whether the lines of the document are vertical, so that it scrolls sideways. */
export function isVertical(): boolean {
  const page = document.scrollingElement ?? document.documentElement;
  const modes = [document.documentElement, document.body].map(
    (each) => each && getComputedStyle(each).writingMode,
  );
  return modes.some((mode) => mode?.startsWith('horizontal') === false) && page.scrollWidth > innerWidth + 1;
}

/**
 * Finds the scroll container: the document, or, if the document exceeds the viewport by less than half of its height, the
 * element that hides more of its content than the document. That element is at least half as high as the viewport; if it
 * covers less than half of the viewport, it is not a side bar. Sets the attribute `mark` on it.
 *
 * @returns the scroll height of the scroll container in CSS pixels
 */
export function findScroller(mark: string): number {
  const MIN_WIDTH = 0.2;
  const SIDE = 'nav, aside, [role="navigation"], [role="complementary"]';
  const page = document.scrollingElement ?? document.documentElement;
  const beyond = Math.max(0, page.scrollHeight - innerHeight);
  if (beyond > innerHeight / 2) return page.scrollHeight;
  const found = elementsBelow(document.documentElement).flatMap((element) => {
    if (element.scrollHeight - element.clientHeight <= beyond + 1) return [];
    if (!['auto', 'scroll', 'overlay'].includes(getComputedStyle(element).overflowY)) return [];
    const { width, height } = element.getBoundingClientRect();
    if (height < innerHeight / 2 || width < MIN_WIDTH * innerWidth) return [];
    const isLarge = width * height >= (innerWidth * innerHeight) / 2;
    return isLarge || element.closest(SIDE) === null ? [{ element, isLarge, width }] : [];
  });
  const [best] = found.toSorted(
    (a, b) =>
      Number(b.isLarge) - Number(a.isLarge) ||
      (a.isLarge ? 0 : b.width - a.width) ||
      b.element.scrollHeight - a.element.scrollHeight,
  );
  best?.element.setAttribute(mark, '');
  return best?.element.scrollHeight ?? page.scrollHeight;
}

/**
 * Scrolls by `distance` from the start without animation, down or, in a document with vertical lines, sideways. Waits until
 * intersection observers have been notified.
 *
 * @returns the current extent of the content in that direction
 */
export async function scrollTo(mark: string, distance: number, vertical: string): Promise<number> {
  const scroller = findMarked(mark) ?? document.scrollingElement ?? document.documentElement;
  const isLeftwards = () => getComputedStyle(document.body).writingMode.endsWith('rl');
  const to = vertical === '' ? { top: distance } : { left: isLeftwards() ? -distance : distance };
  scroller.scrollTo({ ...to, behavior: 'instant' });
  // Intersection observers are notified at the end of an animation frame, so wait for two of them.
  for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
  return vertical === '' ? scroller.scrollHeight : scroller.scrollWidth;
}

/** Returns the extent of the content of the marked element or the document in the direction of `scrollTo`, in CSS pixels. */
export function scrollExtent(mark: string, vertical: string): number {
  const scroller = findMarked(mark) ?? document.scrollingElement ?? document.documentElement;
  return vertical === '' ? scroller.scrollHeight : scroller.scrollWidth;
}

/**
 * Expands the marked scroll container and its ancestors to the height of the content, so that the page shows all of it.
 */
export function expandScroller(mark: string): void {
  const scroller = findMarked(mark);
  if (scroller === null) return;
  const height = scroller.scrollHeight;
  for (let element: HTMLElement | null = scroller; element !== null; element = flatParentOf(element)) {
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
