/// <reference lib="dom" />
import { type Controls, controlsOf } from './controls.ts';
import { elementsIn, proseOf, visibleTextOf, type Words } from './text.ts';

// These functions run in the page, where they are defined under their names and call each other. Names must therefore
// be unique in this folder.

/** The amount of content of a document before any overlay is hidden. */
export interface PageContent {
  /** Number of characters of visible text. */
  length: number;
  images: number;
  /** Whether an empty backdrop covers the page. Elements above a backdrop interrupt the visitor. */
  blocked: boolean;
}

/** An element that may be an overlay, with its size, position, texts and controls. */
export interface Candidate extends Controls {
  element: Element;
  style: CSSStyleDeclaration;
  text: string;
  /** Normalized sentences of the element, without headings. */
  prose: string;
  proseWithHeadings: string;
  /** Number of characters of text, and number of images, in the rest of the page. */
  textBeside: number;
  imagesBeside: number;
  /** Share of the viewport's area that the element covers, 0 to 1. */
  share: number;
  covers: boolean;
  central: boolean;
  atTop: boolean;
  atBottom: boolean;
  wide: boolean;
  /** Whether the element is as tall as the viewport and on one side of it, such as a menu, a cart or filters. */
  atSide: boolean;
  /** Whether the element covers the viewport and is translucent. */
  backdrop: boolean;
  /** Whether an empty backdrop covers the page. */
  blocked: boolean;
  images: number;
}

/** Whether the content beneath an element with this style is visible through it. */
export function isTranslucent({ backgroundColor, backdropFilter, opacity }: CSSStyleDeclaration): boolean {
  const numbers = backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [];
  const alpha = backgroundColor.includes('/') || numbers.length === 4 ? (numbers.at(-1) ?? 1) : 1;
  const seen = alpha * Number(opacity);
  return backdropFilter !== 'none' || (seen > 0 && seen < 1);
}

/** Returns the position and size of an element in the viewport of its frame. */
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

/** Returns the number of visible images, videos and canvases in an element that are larger than icons. */
export function countImages(root: Element): number {
  return elementsIn(root).filter(
    (each) =>
      each.matches('img, video, canvas, picture, object, embed') &&
      each.checkVisibility() &&
      each.clientWidth * each.clientHeight > 10_000,
  ).length;
}

/** Whether an element is a backdrop: it dims the page and has no content. */
export function isBackdrop(element: Element): boolean {
  const style = getComputedStyle(element);
  if (style.position !== 'fixed' && style.position !== 'absolute') return false;
  if (Number(style.zIndex) < 0 || !boxOf(element).covers || !isTranslucent(style)) return false;
  return element.checkVisibility() && visibleTextOf(element) === '' && countImages(element) === 0;
}

/**
 * Whether something other than a header or a menu lies over a backdrop, such as a dialog of the page. Looks at 81 points of
 * the viewport, which are far enough from each other that a button in a corner covers at most one.
 */
export function liesUnderContent(backdrop: Element): boolean {
  const view = backdrop.ownerDocument.defaultView ?? window;
  const root = backdrop.getRootNode();
  const place = root instanceof ShadowRoot ? root : backdrop.ownerDocument;
  const tenths = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  const found = tenths.flatMap((x) =>
    tenths.map((y) => place.elementFromPoint((view.innerWidth * x) / 10, (view.innerHeight * y) / 10)),
  );
  // A backdrop that lets clicks through is found at no point.
  if (!found.includes(backdrop)) return false;
  const over = found.filter(
    (each) =>
      each !== null &&
      !each.contains(backdrop) &&
      each.closest('header, nav, [role="banner"], [role="navigation"]') === null,
  );
  return over.length > 1;
}

/** Measures the content of a document. @param body the document's body, before any overlay is hidden */
export function measureContent(body: Element): PageContent {
  return {
    length: visibleTextOf(body).length,
    images: countImages(body),
    blocked: elementsIn(body).some((each) => isBackdrop(each)),
  };
}

/** Collects the properties of an element that decide whether it is an overlay. */
export function describeCandidate(element: Element, content: PageContent, words: Words): Candidate {
  const style = getComputedStyle(element);
  const text = visibleTextOf(element);
  const box = boxOf(element);
  const images = countImages(element);
  return {
    ...controlsOf(element, words),
    ...box,
    element,
    style,
    text,
    prose: proseOf(element, false),
    proseWithHeadings: proseOf(element, true),
    textBeside: content.length - text.length,
    imagesBeside: content.images - images,
    blocked: content.blocked,
    backdrop: box.covers && isTranslucent(style) && style.position !== 'sticky',
    images,
  };
}
