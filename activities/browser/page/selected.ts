/// <reference lib="dom" />

// Each function is sent to the page as source code and runs there on its own, so it must contain everything it uses.

/** Whether the first element that matches the CSS selector is visible; null when the selector is invalid. */
export function isShown(selector: string): boolean | null {
  try {
    return document.querySelector(selector)?.checkVisibility({ visibilityProperty: true }) ?? false;
  } catch {
    return null;
  }
}

/** Scrolls to the first element that matches the CSS selector. */
export function scrollToSelected(selector: string): void {
  document.querySelector(selector)?.scrollIntoView({ block: 'center', behavior: 'instant' });
}

/** A rectangle of the page in CSS pixels, relative to the top left corner of the viewport. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/**
 * Hides fixed and sticky elements that may cover the first element that matches the CSS selector.
 *
 * @returns the box of that element, rounded outwards; null when no element matches
 */
export function isolateSelected(selector: string): Box | null {
  const selected = document.querySelector(selector);
  if (selected === null) return null;
  for (const element of document.querySelectorAll<HTMLElement>('body *')) {
    if (element.contains(selected) || selected.contains(element)) continue;
    if (['fixed', 'sticky'].includes(getComputedStyle(element).position))
      element.style.setProperty('visibility', 'hidden', 'important');
  }
  const { left, top, right, bottom } = selected.getBoundingClientRect();
  const [x, y] = [Math.floor(left), Math.floor(top)];
  return { x, y, width: Math.ceil(right) - x, height: Math.ceil(bottom) - y };
}
