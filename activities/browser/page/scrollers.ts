/// <reference lib="dom" />
import { elementsAround, elementsBelow, findMarked } from './elements.ts';
import { rememberShown } from './lists.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/** Attribute that marks the element that scrolls instead of the document. */
export const SCROLLER = 'data-capture-scroller';

/** Whether the page is wider than the viewport because of vertical lines: those of the document, or of an element as wide as that. */
export function isVertical(): boolean {
  const page = document.scrollingElement ?? document.documentElement;
  if (page.scrollWidth <= innerWidth + 1) return false;
  const wide = elementsBelow(document).filter(({ clientWidth }) => clientWidth > innerWidth);
  return [document.documentElement, document.body, ...wide].some(
    (each) => each !== null && !getComputedStyle(each).writingMode.startsWith('horizontal'),
  );
}

/**
 * Finds the scroll container: the document, or, if the document exceeds the viewport by less than half of its height, the
 * element that hides more of its content than the document. That element is at least half as high as the viewport; if it
 * covers less than half of the viewport, it is not a side bar. Sets the attribute `mark` on it.
 *
 * @returns the extent of the content in the direction in which it is scrolled, in CSS pixels, and whether its lines are vertical, so
 *   that it is scrolled sideways
 */
export function findScroller(mark: string): { extent: number; vertical: boolean } {
  const MIN_WIDTH = 0.2;
  const SIDE = 'nav, aside, [role="navigation"], [role="complementary"]';
  const page = document.scrollingElement ?? document.documentElement;
  const hasVertical = (element: Element | null) =>
    element !== null && !getComputedStyle(element).writingMode.startsWith('horizontal');
  if (page.scrollWidth > innerWidth + 1 && [document.documentElement, document.body].some(hasVertical))
    return { extent: page.scrollWidth, vertical: true };
  const beyond = Math.max(0, page.scrollHeight - innerHeight);
  if (beyond > innerHeight / 2) return { extent: page.scrollHeight, vertical: false };
  const found = elementsBelow(document.documentElement).flatMap((element) => {
    const isHigh = element.scrollHeight - element.clientHeight > beyond + 1;
    const isWide = element.scrollWidth - element.clientWidth > 1;
    if (!isHigh && !isWide) return [];
    const { overflowX, overflowY } = getComputedStyle(element);
    const vertical = isWide && hasVertical(element);
    if (!isHigh && !vertical) return [];
    if (!['auto', 'scroll', 'overlay'].includes(vertical ? overflowX : overflowY)) return [];
    const { width, height } = element.getBoundingClientRect();
    if (height < innerHeight / 2 || width < MIN_WIDTH * innerWidth) return [];
    const isLarge = width * height >= (innerWidth * innerHeight) / 2;
    const extent = vertical ? element.scrollWidth : element.scrollHeight;
    return isLarge || element.closest(SIDE) === null ? [{ element, isLarge, width, extent, vertical }] : [];
  });
  const [best] = found.toSorted(
    (a, b) =>
      Number(b.isLarge) - Number(a.isLarge) || (a.isLarge ? 0 : b.width - a.width) || b.extent - a.extent,
  );
  best?.element.setAttribute(mark, '');
  return { extent: best?.extent ?? page.scrollHeight, vertical: best?.vertical ?? false };
}

/**
 * Scrolls by `distance` from the start without animation, down or, in a document with vertical lines, sideways; by 0 back in
 * both directions. Waits until intersection observers have been notified.
 *
 * @param compared argument of `rememberShown`, unless a new document has no such function; 0: nothing is remembered
 * @returns the current extent of the content in that direction
 */
export async function scrollTo(
  mark: string,
  distance: number,
  vertical: string,
  compared = 0,
): Promise<number> {
  const scroller = findMarked(mark) ?? document.scrollingElement ?? document.documentElement;
  // By now, the page has drawn what came into view with the scroll step before.
  if (compared > 0 && typeof rememberShown === 'function') rememberShown(scroller.scrollTop, compared);
  const isLeftwards = () => getComputedStyle(findMarked(mark) ?? document.body).writingMode.endsWith('rl');
  const to = vertical === '' ? { top: distance } : { left: isLeftwards() ? -distance : distance };
  const back = distance === 0 ? { top: 0, left: 0 } : {};
  scroller.scrollTo({ ...to, ...back, behavior: 'instant' });
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
 * Expands the marked scroll container and the elements around it to the height of the content, so that the page shows all
 * of it. Elements beside and below it keep their distance. One with vertical lines is widened.
 *
 * @param extent height of the content in CSS pixels; 0: that of the scroll container
 * @param most largest height of the content in CSS pixels, below which it is cut: a list that draws the rows in its box would
 *   draw thousands that no capture shows
 */
export function expandScroller(mark: string, extent: number, most: number): void {
  const scroller = findMarked(mark);
  if (scroller === null) return;
  const set = (element: HTMLElement, declarations: Readonly<Record<string, string>>): void => {
    for (const [property, value] of Object.entries(declarations))
      element.style.setProperty(property, value, 'important');
  };
  const { writingMode } = getComputedStyle(scroller);
  if (!writingMode.startsWith('horizontal') && scroller.scrollWidth > scroller.clientWidth + 1) {
    const width = scroller.offsetWidth - scroller.clientWidth + Math.min(scroller.scrollWidth, most);
    for (const element of [scroller, ...elementsAround(scroller)])
      set(element, { overflow: 'visible', 'max-width': 'none', contain: 'none' });
    set(scroller, { width: `${width}px`, 'min-width': `${width}px`, 'box-sizing': 'border-box' });
    return;
  }
  const content = extent || scroller.scrollHeight;
  const grown = Math.min(content, most) - scroller.clientHeight;
  const around: { element: HTMLElement; box: DOMRect; width: number; height: number; rows: string }[] = [];
  for (const element of [scroller, ...elementsAround(scroller)]) {
    const { gridTemplateRows: rows } = getComputedStyle(element);
    const { offsetWidth: width, offsetHeight } = element;
    // The root is at least as high as the viewport, so that elements at its bottom move to the bottom of the document.
    const isRoot = element === document.body || element === document.documentElement;
    const height = Math.max(offsetHeight, isRoot ? innerHeight : 0) + grown;
    around.push({ element, box: element.getBoundingClientRect(), width, height, rows });
  }
  Reflect.set(
    globalThis,
    'captureStyles',
    new Map(around.map(({ element }) => [element, element.style.cssText])),
  );
  for (const { element, width, height } of around) {
    const { position, containerType } = getComputedStyle(element);
    set(element, { height: 'auto', 'max-height': 'none', overflow: 'visible', contain: 'none' });
    // With the containment of its size, a container of queries would have no height.
    if (containerType.includes('size')) set(element, { 'container-type': 'inline-size' });
    if (position !== 'fixed' && position !== 'absolute') continue;
    set(element, {
      position: 'absolute',
      'box-sizing': 'border-box',
      width: `${width}px`,
      height: `${height}px`,
    });
    set(element, { right: 'auto', bottom: 'auto' });
  }
  if (content > most) set(scroller, { height: `${most}px`, overflow: 'hidden', 'box-sizing': 'border-box' });
  const { body } = document;
  const { left = 1, top = 1 } = body?.getBoundingClientRect() ?? {};
  if (body !== null && left === 0 && top === 0 && getComputedStyle(body).position === 'static')
    set(body, { position: 'relative' });
  const bottomOf = (element: HTMLElement | undefined) => element?.getBoundingClientRect().bottom ?? 0;
  for (const [index, { element, box, height, rows }] of around.entries()) {
    const style = getComputedStyle(element);
    const inner = around[index - 1];
    const isLow =
      inner === undefined ? element.offsetHeight < height : bottomOf(inner.element) > bottomOf(element) + 1;
    if (!isLow) continue;
    const edges = [style.paddingTop, style.paddingBottom, style.borderTopWidth, style.borderBottomWidth];
    const sum =
      style.boxSizing === 'border-box' ? 0 : edges.reduce((all, edge) => all + Number.parseFloat(edge), 0);
    set(element, { 'min-height': `${height - sum}px` });
    // The row of the grid that the inner element ends in takes it up.
    const tracks =
      style.display.endsWith('grid') && inner !== undefined ? rows.split(' ').map(Number.parseFloat) : [];
    const gap = Number.parseFloat(style.rowGap) || 0;
    let end = box.top + element.clientTop + Number.parseFloat(style.paddingTop);
    const ended = tracks.findIndex((track) => {
      end += track + gap;
      return inner !== undefined && end >= inner.box.bottom - 1;
    });
    if (ended >= 0)
      set(element, {
        'grid-template-rows': tracks.map((track, at) => `${track + (at === ended ? grown : 0)}px`).join(' '),
      });
  }
  for (const { element, box } of around.toReversed()) {
    const style = getComputedStyle(element);
    if (style.position !== 'absolute') continue;
    const moved = element.getBoundingClientRect();
    const zoom = element.currentCSSZoom;
    const [x, y] = [(box.left - moved.left) / zoom, (box.top - moved.top) / zoom];
    set(element, {
      left: `${Number.parseFloat(style.left) + x}px`,
      top: `${Number.parseFloat(style.top) + y}px`,
    });
  }
}
