/// <reference lib="dom" />
import { findMarked } from './elements.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/** Attribute that the root element has while the page is captured and its handlers must not change it any more. */
export const STILL = 'data-capture-still';

/**
 * Runs in the page before the page's own scripts. While the root element has the attribute `mark`, handlers of `resize` do
 * not run: a capture beyond the viewport changes its size for a moment, and handlers would hide blocks again. Handlers
 * of the window run in the order of their registration, so this one must be the first.
 */
export function suppressResizing(mark: string): void {
  addEventListener('resize', (event) => {
    if (document.documentElement?.hasAttribute(mark) === true) event.stopImmediatePropagation();
  });
}

/**
 * Tells the page's own scripts that the viewport is four times as high as the page. A script that shows blocks in the viewport,
 * or in its upper part, then shows all blocks. The layout does not change. Must run in the world of the page's scripts.
 *
 * Some libraries, such as GSAP's ScrollTrigger, do not read the height of the viewport, but measure an empty element outside
 * the flow whose height is `100vh`. Such elements are reported with the greater height, too.
 *
 * @param mark attribute of the element that scrolls instead of the document, if there is one
 * @param most height of the page in CSS pixels from which on nothing is captured
 * @returns a function that restores the height of the viewport
 */
export function pretendTallViewport(mark: string, most: number): () => void {
  const root = document.documentElement;
  const find = (within: Document | ShadowRoot): Element | null => {
    const marked = within.querySelector(`[${mark}]`);
    if (marked !== null) return marked;
    for (const { shadowRoot } of within.querySelectorAll('*')) {
      const found = shadowRoot && find(shadowRoot);
      if (found !== null) return found;
    }
    return null;
  };
  const scroller = find(document);
  const scrolling = [root, document.body, scroller];
  const height = 4 * Math.min(most, Math.max(...scrolling.map((element) => element?.scrollHeight ?? 0)));
  const heights: [object | null, string][] = [
    [window, 'innerHeight'],
    [window.visualViewport, 'height'],
    [root, 'clientHeight'],
    [scroller, 'clientHeight'],
    // In quirks mode, the body has the height of the viewport instead of the root element.
    [document.compatMode === 'BackCompat' ? document.body : null, 'clientHeight'],
  ];
  const restore = heights.map(([target, property]) => {
    if (target === null) return () => undefined;
    const own = Object.getOwnPropertyDescriptor(target, property);
    Object.defineProperty(target, property, { configurable: true, writable: true, value: height });
    return () =>
      own === undefined
        ? Reflect.deleteProperty(target, property)
        : Object.defineProperty(target, property, own);
  });
  const offsetHeight = Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'offsetHeight');
  if (offsetHeight !== undefined) {
    const isProbe = ({ style, childNodes }: HTMLElement) =>
      childNodes.length === 0 &&
      /^100[dls]?vh$/.test(style.height) &&
      ['absolute', 'fixed'].includes(style.position);
    Object.defineProperty(HTMLElement.prototype, 'offsetHeight', {
      ...offsetHeight,
      get(this: HTMLElement) {
        const actual: unknown = offsetHeight.get?.call(this);
        return isProbe(this) ? height : actual;
      },
    });
    restore.push(() => Object.defineProperty(HTMLElement.prototype, 'offsetHeight', offsetHeight));
  }
  return () => {
    for (const each of restore) each();
  };
}

/** Whether scripts may react to the viewport. */
export const hasScripts = (): boolean => document.querySelector('script, [onscroll], [onresize]') !== null;

/** Runs the page's handlers of `resize`, which may measure the viewport again. */
export const notifyResize = (): boolean => dispatchEvent(new Event('resize'));

/** Runs the page's handlers of `scroll`: those of the marked scroll container, the document and the window. */
export function notifyScroll(mark: string): void {
  findMarked(mark)?.dispatchEvent(new Event('scroll'));
  document.dispatchEvent(new Event('scroll', { bubbles: true }));
}

/**
 * Waits until scripts have not changed the style of an element for `stillMs` milliseconds, because the animations of many
 * libraries set styles in each frame. Waits for `longestMs` at most: some animations have no end.
 */
export async function waitForStyles(stillMs: number, longestMs: number): Promise<void> {
  const until = performance.now() + longestMs;
  let changed = performance.now();
  const observer = new MutationObserver(() => {
    changed = performance.now();
  });
  observer.observe(document, { subtree: true, attributeFilter: ['style', 'class'] });
  for (;;) {
    const left = Math.min(changed + stillMs, until) - performance.now();
    if (left <= 0) break;
    await new Promise((resolve) => setTimeout(resolve, left));
  }
  observer.disconnect();
}

/** Keeps the page's handlers of scrolling and resizing from running again. Must run in the world of the page's scripts. */
export function stopHandlers(still: string): void {
  document.documentElement.setAttribute(still, '');
  addEventListener('scroll', (event) => event.stopImmediatePropagation(), true);
}
