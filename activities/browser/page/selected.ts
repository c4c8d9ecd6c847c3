/// <reference lib="dom" />
import { elementsAround, elementsBelow, isApart, shownPartOf } from './elements.ts';

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
 * all of it, that element and those around it are expanded first, and elements that it then lies over are hidden.
 */
export function scrollToSelected(selector: string): void {
  const selected = document.querySelector(selector);
  if (selected === null) return;
  const all = elementsAround(selected);
  const around = all.slice(0, all.indexOf(document.body));
  const { width, height } = selected.getBoundingClientRect();
  const isSmaller = (element: HTMLElement) => {
    // A transform can show the element larger or smaller.
    const box = element.getBoundingClientRect();
    const [x, y] = [box.width / element.offsetWidth, box.height / element.offsetHeight];
    return element.clientHeight * y < height - 1 || element.clientWidth * x < width - 1;
  };
  const scrolls = (element: HTMLElement) => /auto|scroll|overlay/.test(getComputedStyle(element).overflow);
  if (around.some((element) => isSmaller(element) && scrolls(element))) {
    const meets = (
      element: Element,
      { left, top, right, bottom }: ReturnType<typeof shownPartOf>,
    ): boolean => {
      const box = element.getBoundingClientRect();
      return box.left < right && box.right > left && box.top < bottom && box.bottom > top;
    };
    const shown = shownPartOf(selected);
    const beside = elementsBelow(document.body).filter(
      (element) => isApart(element, selected) && !meets(element, shown),
    );
    const expanded = around.filter(
      (element) => getComputedStyle(element).overflow !== 'visible' && isSmaller(element),
    );
    for (const element of expanded) {
      const declarations = {
        ...{ height: 'auto', 'max-height': 'none', overflow: 'visible', contain: 'none' },
        // With the containment of its size, a container of queries would have no height.
        ...(getComputedStyle(element).containerType.includes('size') && { 'container-type': 'inline-size' }),
      };
      for (const [property, value] of Object.entries(declarations))
        element.style.setProperty(property, value, 'important');
    }
    // A dialog in the middle of the viewport has grown beyond the start of the page, which is never shown.
    const { left, top } = selected.getBoundingClientRect();
    const isLeftToRight = getComputedStyle(document.documentElement).direction === 'ltr';
    const x = isLeftToRight ? Math.max(0, -left - scrollX) : 0;
    const y = Math.max(0, -top - scrollY);
    const outermost = expanded.at(-1);
    if (outermost !== undefined && x + y > 0) {
      const { translate } = getComputedStyle(outermost);
      const [before = '0px', above = '0px'] = translate === 'none' ? [] : translate.split(' ');
      const moved = `calc(${before} + ${x}px) calc(${above} + ${y}px)`;
      outermost.style.setProperty('translate', moved, 'important');
    }
    const box = selected.getBoundingClientRect();
    for (const element of beside)
      if (meets(element, box)) element.style.setProperty('visibility', 'hidden', 'important');
  }
  selected.scrollIntoView({ block: 'center', behavior: 'instant' });
}

/** Attribute of the selected element if it is higher than the viewport. */
export const SELECTED = 'data-capture-selected';

/** Sets the attribute `mark` on the first element that matches the CSS selector if it is higher than the viewport. */
export function markTall(selector: string, mark: string): boolean {
  const selected = document.querySelector(selector);
  if (selected === null || selected.getBoundingClientRect().height <= innerHeight) return false;
  selected.setAttribute(mark, '');
  return true;
}

/** Scrolls over the marked element, one viewport at a time, so that its lazy content loads. */
export async function scrollOver(mark: string, longestMs: number): Promise<void> {
  const until = performance.now() + longestMs;
  for (let at = 0; performance.now() < until; at += innerHeight) {
    const box = document.querySelector(`[${mark}]`)?.getBoundingClientRect();
    if (box === undefined || at >= box.height) return;
    scrollBy({ top: box.top + at, behavior: 'instant' });
    // Intersection observers are notified at the end of an animation frame, so wait for two of them.
    for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}

/** A rectangle of the page in CSS pixels, relative to the top left corner of the viewport. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/**
 * Hides fixed and sticky elements, dialogs and popovers that may cover the first element that matches the CSS selector.
 *
 * @returns the box of that element without the parts that elements around it clip, rounded outwards; null when no element
 *   matches
 */
export function isolateSelected(selector: string): Box | null {
  const selected = document.querySelector(selector);
  if (selected === null) return null;
  for (const element of elementsBelow(document.body)) {
    if (!isApart(element, selected)) continue;
    const mayCover =
      ['fixed', 'sticky'].includes(getComputedStyle(element).position) ||
      element.matches(':modal, :popover-open');
    if (mayCover) element.style.setProperty('visibility', 'hidden', 'important');
  }
  const { left, top, right, bottom } = shownPartOf(selected);
  const isLeftToRight = getComputedStyle(document.documentElement).direction === 'ltr';
  // Browsers cannot scroll to content left of or above the start of the page, so it is left out.
  const x = Math.floor(isLeftToRight ? Math.max(left, -scrollX) : left);
  const y = Math.floor(Math.max(top, -scrollY));
  return { x, y, width: Math.ceil(right) - x, height: Math.ceil(bottom) - y };
}
