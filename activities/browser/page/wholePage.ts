/// <reference lib="dom" />
import { addStyles, elementsAround, elementsBelow } from './elements.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/**
 * Cancels animations whose progress depends on the position of an element in the viewport. In a capture of the whole
 * page, elements below the first viewport would otherwise show the start of their animation.
 */
export function cancelScrollAnimations(): void {
  for (const animation of document.getAnimations())
    if (animation.timeline?.constructor.name === 'ViewTimeline') animation.cancel();
}

/**
 * Attaches fixed backgrounds to the page instead of the viewport, because Chromium does not paint them below the
 * viewport.
 */
export function releaseBackgrounds(): void {
  const roots: (Element | null)[] = [document.documentElement, document.body];
  for (const element of elementsBelow(document)) {
    const { backgroundAttachment, backgroundRepeat, backgroundSize } = getComputedStyle(element);
    if (!backgroundAttachment.includes('fixed')) continue;
    element.style.setProperty('background-attachment', 'scroll', 'important');
    // A fixed background is visible at every scroll position, so in a capture of the whole page it is repeated
    // downwards.
    if (roots.includes(element) && backgroundRepeat === 'no-repeat' && backgroundSize !== 'cover')
      element.style.setProperty('background-repeat', 'repeat-y', 'important');
  }
}

/**
 * Moves fixed elements at the bottom of the viewport to the bottom of the page, extends empty fixed elements that fill
 * the viewport over the whole page, and puts sticky elements at the bottom of the viewport back to their place in the
 * page. Fixed elements in a transformed or otherwise containing element, which scroll with the page, and sticky elements of a
 * scroll container stay.
 */
export function placeFixedElements(): void {
  const FILLS = 0.9;
  const root = document.documentElement;
  const heightOf = (element: HTMLElement | null) =>
    (element?.scrollHeight ?? 0) * (element?.currentCSSZoom ?? 1);
  const height = Math.max(heightOf(root), heightOf(document.body));
  const set = (element: HTMLElement, property: string, value: string) =>
    element.style.setProperty(property, value, 'important');
  const hasText = ({ childNodes, tagName }: Element) =>
    !/^(?:script|style|template)$/i.test(tagName) &&
    [...childNodes].some(
      ({ nodeType, textContent }) => nodeType === Node.TEXT_NODE && textContent?.trim() !== '',
    );
  const isEmpty = (element: Element) =>
    ![element, ...elementsBelow(element)].some((each) => hasText(each) || each.matches('img, video, iframe'));
  const isInScroller = (element: Element): boolean =>
    elementsAround(element).some(
      (outer) =>
        outer !== root &&
        outer !== document.body &&
        /auto|scroll|hidden/.test(getComputedStyle(outer).overflowY),
    );
  const fixed: { element: HTMLElement; box: DOMRect }[] = [];
  for (const element of elementsBelow(root)) {
    const style = getComputedStyle(element);
    const { position, bottom } = style;
    // An element that is placed at another one scrolls with it, and is hidden while that one is outside the viewport.
    const isAnchored =
      style.getPropertyValue('position-anchor').startsWith('--') ||
      !['', 'none'].includes(style.getPropertyValue('position-area'));
    if (isAnchored) {
      set(element, 'position-visibility', 'always');
      // A fallback fits into the viewport as it is now.
      if (element.getBoundingClientRect().top >= innerHeight) set(element, 'position-try-fallbacks', 'none');
    }
    if (position === 'sticky' && bottom !== 'auto' && !isInScroller(element)) set(element, 'bottom', 'auto');
    if (position !== 'fixed' || isAnchored) continue;
    const box = element.getBoundingClientRect();
    if (box.width > 0 && box.height > 0) fixed.push({ element, box });
  }
  // No frame is painted meanwhile, so that the page's observers do not notice.
  scrollTo({ top: height, behavior: 'instant' });
  const topOf = (element: HTMLElement) => element.getBoundingClientRect().top;
  const ofViewport = fixed.filter(({ element, box }) => Math.abs(topOf(element) - box.top) < 1);
  scrollTo({ top: 0, behavior: 'instant' });
  for (const { element, box } of ofViewport) {
    const zoom = element.currentCSSZoom;
    const fills = box.height >= FILLS * innerHeight && box.width >= FILLS * innerWidth;
    if (fills && isEmpty(element)) {
      set(element, 'height', `${height / zoom}px`);
      set(element, 'max-height', 'none');
      set(element, 'bottom', 'auto');
      continue;
    }
    const isLow = box.height < innerHeight / 2 && innerHeight - box.bottom < box.top;
    // A fixed element around this one that was moved has taken it along.
    const missing = box.top + (isLow ? height - innerHeight : 0) - topOf(element);
    if (Math.abs(missing) < 1) continue;
    const { translate } = getComputedStyle(element);
    const [x = '0px', y = '0px'] = translate === 'none' ? [] : translate.split(' ');
    set(element, 'transition', 'none');
    set(element, 'translate', `${x} calc(${y} + ${missing / zoom}px)`);
  }
}

/** Extends the backdrops of dialogs and popovers that fill the viewport over the whole page. */
export function extendBackdrops(): void {
  const FILLS = 0.9;
  const MARK = 'data-capture-backdrop';
  const { scrollWidth, scrollHeight } = document.documentElement;
  const fills = (element: HTMLElement): boolean => {
    const { width, height } = getComputedStyle(element, '::backdrop');
    return Number.parseFloat(height) >= FILLS * innerHeight && Number.parseFloat(width) >= FILLS * innerWidth;
  };
  const shown = elementsBelow(document).filter(
    (element) => element.matches('dialog:modal, :popover-open, :fullscreen') && fills(element),
  );
  if (shown.length === 0) return;
  for (const element of shown) element.setAttribute(MARK, '');
  addStyles(
    `[${MARK}]::backdrop{width:${scrollWidth}px!important;height:${scrollHeight}px!important;max-width:none!important;max-height:none!important;inset:0 auto auto 0!important}`,
  );
}
