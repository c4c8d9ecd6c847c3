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

/** Fonts are loaded and pictures decoded, and what they changed is drawn. */
export async function drawn(): Promise<void> {
  await document.fonts.ready;
  const pictures = [...document.images].filter((image) => image.complete && image.naturalWidth > 0);
  await Promise.allSettled(pictures.map((image) => image.decode()));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await frame();
  await frame();
}

/** Pictures and frames that wait until they are seen need not wait any more. */
export function wakeLazy(): void {
  for (const element of document.querySelectorAll<HTMLImageElement | HTMLIFrameElement>('[loading="lazy" i]'))
    element.loading = 'eager';
}
