/// <reference lib="dom" />
import { elementsBelow, flatParentOf } from './elements.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/** Whether the first element that matches the CSS selector is visible; null when the selector is invalid. */
export function isShown(selector: string): boolean | null {
  try {
    return document.querySelector(selector)?.checkVisibility({ visibilityProperty: true }) ?? false;
  } catch {
    return null;
  }
}

/**
 * Scrolls to the first element that matches the CSS selector. If an element around it scrolls and is too small to show
 * all of it, that element and those around it are expanded first.
 */
export function scrollToSelected(selector: string): void {
  const selected = document.querySelector(selector);
  if (selected === null) return;
  const around: HTMLElement[] = [];
  for (
    let outer = flatParentOf(selected);
    outer !== null && outer !== document.body;
    outer = flatParentOf(outer)
  )
    around.push(outer);
  const { width, height } = selected.getBoundingClientRect();
  const isSmaller = (element: HTMLElement) =>
    element.clientHeight < height - 1 || element.clientWidth < width - 1;
  const scrolls = (element: HTMLElement) => /auto|scroll|overlay/.test(getComputedStyle(element).overflow);
  if (around.some((element) => isSmaller(element) && scrolls(element)))
    for (const element of around) {
      if (getComputedStyle(element).overflow === 'visible' || !isSmaller(element)) continue;
      const expanded = { height: 'auto', 'max-height': 'none', overflow: 'visible', contain: 'none' };
      for (const [property, value] of Object.entries(expanded))
        element.style.setProperty(property, value, 'important');
    }
  selected.scrollIntoView({ block: 'center', behavior: 'instant' });
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
 * @returns the box of that element without the parts that elements around it clip, rounded outwards; null when no element
 *   matches
 */
export function isolateSelected(selector: string): Box | null {
  const selected = document.querySelector(selector);
  if (selected === null) return null;
  for (const element of elementsBelow(document.body)) {
    if (element.contains(selected) || selected.contains(element)) continue;
    const root = element.getRootNode();
    if (root instanceof ShadowRoot && (selected.contains(root.host) || root.host.contains(selected)))
      continue;
    if (['fixed', 'sticky'].includes(getComputedStyle(element).position))
      element.style.setProperty('visibility', 'hidden', 'important');
  }
  let { left, top, right, bottom } = selected.getBoundingClientRect();
  let { position } = getComputedStyle(selected);
  for (
    let outer = flatParentOf(selected);
    outer !== null && outer !== document.body;
    outer = flatParentOf(outer)
  ) {
    const style = getComputedStyle(outer);
    const isAnchor =
      style.transform !== 'none' || style.filter !== 'none' || /paint|strict|content/.test(style.contain);
    const isContaining =
      position === 'fixed' ? isAnchor : position !== 'absolute' || isAnchor || style.position !== 'static';
    if (!isContaining) continue;
    position = style.position;
    const box = outer.getBoundingClientRect();
    if (style.overflowX !== 'visible') {
      left = Math.max(left, box.left + outer.clientLeft);
      right = Math.min(right, box.left + outer.clientLeft + outer.clientWidth);
    }
    if (style.overflowY !== 'visible') {
      top = Math.max(top, box.top + outer.clientTop);
      bottom = Math.min(bottom, box.top + outer.clientTop + outer.clientHeight);
    }
  }
  const [x, y] = [Math.floor(left), Math.floor(top)];
  return { x, y, width: Math.ceil(right) - x, height: Math.ceil(bottom) - y };
}
