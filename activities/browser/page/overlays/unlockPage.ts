/// <reference lib="dom" />

/**
 * Runs in the page: removes the scroll locks, blur filters and `inert` attributes that overlays set on the page while
 * they are shown.
 */
export function unlockPage(): void {
  for (const element of [document.documentElement, document.body]) {
    const style = getComputedStyle(element);
    if (style.overflowY === 'hidden' || style.overflowY === 'clip')
      element.style.setProperty('overflow', 'visible', 'important');
    if (style.position === 'fixed') {
      element.style.setProperty('position', 'static', 'important');
      element.style.setProperty('width', 'auto', 'important');
    }
    if (style.touchAction === 'none') element.style.setProperty('touch-action', 'auto', 'important');
    if (style.height === `${innerHeight}px` && element.scrollHeight > innerHeight)
      element.style.setProperty('height', 'auto', 'important');
  }
  for (const element of document.querySelectorAll<HTMLElement>('body, body > *, body > * > *')) {
    const { filter } = getComputedStyle(element);
    if (filter.includes('blur(')) element.style.setProperty('filter', 'none', 'important');
    element.inert = false;
  }
}
