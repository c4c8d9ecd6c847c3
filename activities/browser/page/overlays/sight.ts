/// <reference lib="dom" />
import { type Controls, controlsOf } from './controls.ts';
import { everythingIn, saidIn, textOf, type Words } from './text.ts';

// These run in the page, where they know each other by their names.

/** What a document shows before anything is hidden. */
export interface Whole {
  length: number;
  pictures: number;
  /** Something empty lies over all of it: what is above that is an interruption. */
  blocked: boolean;
}

/** What a visitor sees of an element that stays in the window. */
export interface Sight extends Controls {
  element: Element;
  style: CSSStyleDeclaration;
  text: string;
  /** Its sentences, and those with its headings. */
  said: string;
  titled: string;
  /** Length of what there is to read beside it, and the number of pictures there. */
  rest: number;
  picturesBeside: number;
  /** Of the window. */
  share: number;
  covers: boolean;
  central: boolean;
  atTop: boolean;
  atBottom: boolean;
  wide: boolean;
  /** As high as the window and at one side of it: a menu, a cart, filters. */
  atSide: boolean;
  /** It covers the window and what lies beneath shines through. */
  veil: boolean;
  /** There is an empty veil over the page. */
  blocked: boolean;
  pictures: number;
}

/** Whether what lies beneath shines through. */
export function isTranslucent({ backgroundColor, backdropFilter, opacity }: CSSStyleDeclaration): boolean {
  const numbers = backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [];
  const alpha = backgroundColor.includes('/') || numbers.length === 4 ? (numbers.at(-1) ?? 1) : 1;
  const seen = alpha * Number(opacity);
  return backdropFilter !== 'none' || (seen > 0 && seen < 1);
}

/** Where in its window an element is, and how much of it. */
export function boxOf(element: Element) {
  const view = element.ownerDocument.defaultView ?? window;
  const { left, top, right, bottom } = element.getBoundingClientRect();
  const width = Math.max(0, Math.min(right, view.innerWidth) - Math.max(left, 0));
  const height = Math.max(0, Math.min(bottom, view.innerHeight) - Math.max(top, 0));
  const covers = width >= 0.9 * view.innerWidth && height >= 0.9 * view.innerHeight;
  const [middle, centre] = [view.innerWidth / 2, view.innerHeight / 2];
  return {
    share: (width * height) / (view.innerWidth * view.innerHeight),
    covers,
    central:
      left <= middle && right >= middle && Math.abs((top + bottom) / 2 - centre) < 0.35 * view.innerHeight,
    atTop: top <= 30,
    atBottom: bottom >= view.innerHeight - 30,
    wide: width >= view.innerWidth / 2,
    atSide: height >= 0.9 * view.innerHeight && !covers && (left <= 10 || right >= view.innerWidth - 10),
  };
}

/** How much of pictures, films and drawings is to be seen in an element. */
export function picturesIn(root: Element): number {
  return everythingIn(root).filter(
    (each) =>
      each.matches('img, video, canvas, picture, object, embed') &&
      each.checkVisibility() &&
      each.clientWidth * each.clientHeight > 10_000,
  ).length;
}

/** Whether an element dims the page and does nothing else. */
export function isVeil(element: Element): boolean {
  const style = getComputedStyle(element);
  if (style.position !== 'fixed' && style.position !== 'absolute') return false;
  if (Number(style.zIndex) < 0 || !boxOf(element).covers || !isTranslucent(style)) return false;
  return element.checkVisibility() && textOf(element) === '' && picturesIn(element) === 0;
}

/** @param body of the document, before anything is hidden */
export function wholeOf(body: Element): Whole {
  return {
    length: textOf(body).length,
    pictures: picturesIn(body),
    blocked: everythingIn(body).some((each) => isVeil(each)),
  };
}

/** Looks at an element. */
export function sightOf(element: Element, whole: Whole, words: Words): Sight {
  const style = getComputedStyle(element);
  const text = textOf(element);
  const box = boxOf(element);
  const pictures = picturesIn(element);
  return {
    ...controlsOf(element, words),
    ...box,
    element,
    style,
    text,
    said: saidIn(element, false),
    titled: saidIn(element, true),
    rest: whole.length - text.length,
    picturesBeside: whole.pictures - pictures,
    blocked: whole.blocked,
    veil: box.covers && isTranslucent(style) && style.position !== 'sticky',
    pictures,
  };
}
