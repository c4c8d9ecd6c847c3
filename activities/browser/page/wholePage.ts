/// <reference lib="dom" />

// Each function runs in the page by itself, so it contains everything it uses.

/** Cancels animations that follow the position of an element in the window: all but the first window would be at their start. */
export function cancelScrollAnimations(): void {
  for (const animation of document.getAnimations())
    if (animation.timeline?.constructor.name === 'ViewTimeline') animation.cancel();
}

/** Positions fixed backgrounds on the page instead of the window, below which Chromium does not paint them. */
export function releaseBackgrounds(): void {
  const roots: (Element | null)[] = [document.documentElement, document.body];
  for (const element of document.querySelectorAll<HTMLElement>('*')) {
    const { backgroundAttachment, backgroundRepeat, backgroundSize } = getComputedStyle(element);
    if (!backgroundAttachment.includes('fixed')) continue;
    element.style.setProperty('background-attachment', 'scroll', 'important');
    // In a window the picture is visible at every scroll position.
    if (roots.includes(element) && backgroundRepeat === 'no-repeat' && backgroundSize !== 'cover')
      element.style.setProperty('background-repeat', 'repeat-y', 'important');
  }
}

/**
 * Moves fixed elements at the bottom of the window to the bottom of the page, extends empty ones that fill the window over
 * the page, and puts sticky elements at the bottom of the window where the page has them.
 */
export function placeFixedElements(): void {
  const FILLS = 0.9;
  const height = Math.max(document.documentElement.scrollHeight, document.body?.scrollHeight ?? 0);
  const set = (element: HTMLElement, property: string, value: string) =>
    element.style.setProperty(property, value, 'important');
  for (const element of document.querySelectorAll<HTMLElement>('body, body *')) {
    const { position, bottom, top, translate } = getComputedStyle(element);
    if (position === 'sticky' && bottom !== 'auto' && top === 'auto') set(element, 'bottom', 'auto');
    // Other elements than the root can contain fixed elements too, and then scroll with the page.
    if (position !== 'fixed') continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const fills = box.height >= FILLS * innerHeight && box.width >= FILLS * innerWidth;
    if (fills && element.textContent.trim() === '' && element.querySelector('img, video, iframe') === null) {
      set(element, 'height', `${height}px`);
      set(element, 'max-height', 'none');
      set(element, 'bottom', 'auto');
    } else if (box.height < innerHeight / 2 && innerHeight - box.bottom < box.top) {
      const [x = '0px', y = '0px'] = translate === 'none' ? [] : translate.split(' ');
      set(element, 'transition', 'none');
      set(element, 'translate', `${x} calc(${y} + ${height - innerHeight}px)`);
    }
  }
}
