/// <reference lib="dom" />

// Each of these runs in the page, so it holds all that it uses.

/** Whether anything on the page can still ask for more once it is loaded. */
export const isAlive = (): boolean => document.querySelector('script, iframe, frame, object, embed') !== null;

/** Whether there is no document at all, not even an empty one. */
export const isVoid = (): boolean => document.documentElement === null;

/** Whether what was asked for came without a body. */
export function isEmpty(): boolean {
  const [navigation] = performance.getEntriesByType('navigation');
  return navigation instanceof PerformanceNavigationTiming && navigation.decodedBodySize === 0;
}

/**
 * Fonts are loaded and pictures decoded, what they changed is drawn, and what was fading or sliding in is there: parts of a
 * picture that are drawn one after the other would show it at different times. What goes on for long, or follows the scroll
 * bar, is left as it is.
 *
 * @param fontsMs how long fonts are waited for
 */
export async function drawn(fontsMs: number): Promise<void> {
  const LONG_MS = 5_000;
  // The end of one may be the beginning of the next, but not for ever.
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
 * Pictures, frames and parts of the page that wait until they are seen need not wait any more: beyond some windows' height
 * a picture of the page would show nothing of what `content-visibility: auto` leaves out. Set on each element itself, which
 * no security policy of the page forbids; `hidden` stays hidden.
 */
export function wakeLazy(): void {
  const wake = (root: Document | ShadowRoot): void => {
    for (const element of root.querySelectorAll<HTMLElement>('*')) {
      const waits = element instanceof HTMLImageElement || element instanceof HTMLIFrameElement;
      if (waits && element.loading === 'lazy') element.loading = 'eager';
      if (getComputedStyle(element).contentVisibility === 'auto')
        element.style.setProperty('content-visibility', 'visible', 'important');
      if (element.shadowRoot !== null) wake(element.shadowRoot);
    }
  };
  wake(document);
}
