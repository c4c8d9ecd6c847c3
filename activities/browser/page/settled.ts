/// <reference lib="dom" />
import { elementsBelow } from './elements.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/** Whether a loaded page can still request files, because it contains scripts or embedded documents. */
export const canLoadMore = (): boolean =>
  document.querySelector('script, iframe, frame, object, embed') !== null;

/** Whether the parser has received no byte of the document. */
export const hasNoDocument = (): boolean => document.documentElement === null;

/** Whether the response for the document had no body. */
export function hasEmptyBody(): boolean {
  const [navigation] = performance.getEntriesByType('navigation');
  return navigation instanceof PerformanceNavigationTiming && navigation.decodedBodySize === 0;
}

/**
 * Waits until fonts are loaded, images are decoded and the page is painted, then finishes short animations: the tiles
 * of a screenshot are captured one after the other and would show different states of an animation. Long and
 * scroll-driven animations are not changed.
 *
 * @param fontsMs longest time to wait for fonts, in milliseconds
 */
export async function waitUntilPainted(fontsMs: number): Promise<void> {
  const LONG_MS = 5_000;
  // The end of an animation may start another animation, so the number of rounds is limited.
  const ROUNDS = 3;
  await Promise.race([document.fonts.ready, new Promise((resolve) => setTimeout(resolve, fontsMs))]);
  const pictures = [...document.images].filter((image) => image.complete && image.naturalWidth > 0);
  await Promise.allSettled(pictures.map((image) => image.decode()));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await frame();
  await frame();
  for (let round = 0; round < ROUNDS; round++) {
    const passing = document.getAnimations().filter(({ playState, playbackRate, timeline, effect }) => {
      const end = Number(effect?.getComputedTiming().endTime ?? Number.POSITIVE_INFINITY);
      return (
        playState === 'running' && playbackRate > 0 && timeline instanceof DocumentTimeline && end <= LONG_MS
      );
    });
    if (passing.length === 0) return;
    for (const animation of passing) animation.finish();
    await frame();
    await frame();
  }
}

/**
 * Loads lazy images and frames, and renders elements with `content-visibility: auto`, also in frames of the same origin,
 * because a capture far below the viewport would show them empty. Sets the property in the `style` of each element, which a content security policy
 * does not block. Elements with `content-visibility: hidden` stay hidden.
 */
export function loadLazyContent(): void {
  // The nodes of frames are instances of other classes.
  const isDocument = (value: unknown): value is Document =>
    typeof value === 'object' && value !== null && Reflect.get(value, 'nodeType') === Node.DOCUMENT_NODE;
  const loadIn = (content: Document): void => {
    for (const element of elementsBelow(content)) {
      if (element.matches('img, iframe') && /^lazy$/i.test(element.getAttribute('loading') ?? ''))
        element.setAttribute('loading', 'eager');
      if (getComputedStyle(element).contentVisibility === 'auto')
        element.style.setProperty('content-visibility', 'visible', 'important');
      const inner: unknown = Reflect.get(element, 'contentDocument');
      if (isDocument(inner)) loadIn(inner);
    }
  };
  loadIn(document);
}
