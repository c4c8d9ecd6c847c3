/// <reference lib="dom" />
import { elementsBelow, findMarked, isApart, shadowRootOf, textsBetween } from './elements.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/** The texts that the viewport showed at a scroll position in CSS pixels. */
interface View {
  at: number;
  texts: string[];
}

/**
 * Remembers the texts that the viewport shows at a scroll position. `isIncomplete` compares them with the page at the end. Scripts of
 * the page do not see what is remembered.
 *
 * @param at the scroll position in CSS pixels
 * @param most number of elements of a page from which on nothing is remembered
 */
export function rememberShown(at: number, most: number): void {
  if (document.getElementsByTagName('*').length > most) return;
  const known: unknown = Reflect.get(globalThis, 'captureViews');
  const view: View = { at, texts: [...textsBetween(0, innerHeight)] };
  Reflect.set(globalThis, 'captureViews', [...(Array.isArray(known) ? known : []), view]);
}

/**
 * Whether the page, scrolled to its top, no longer has most of what a viewport showed while it was scrolled, and little else in
 * its place: a list that draws only the rows around the viewport has taken them out again.
 */
export function isIncomplete(): boolean {
  /** Fewer texts change on other pages, too: clocks, counters and slides. */
  const LEAST = 3;
  const isView = (value: unknown): value is View =>
    typeof value === 'object' && value !== null && 'at' in value && 'texts' in value;
  const known: unknown = Reflect.get(globalThis, 'captureViews');
  const views = (Array.isArray(known) ? known : []).filter(isView);
  if (views.length === 0) return false;
  const all = textsBetween(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY);
  return views.some(({ at, texts }) => {
    const gone = texts.filter((text) => !all.has(text)).length;
    if (gone < LEAST || gone <= texts.length / 2) return false;
    return textsBetween(at - scrollY, at - scrollY + innerHeight).size < texts.length / 2;
  });
}

/** A part of the content of the scroll container, in CSS pixels from the top left corner of the viewport. */
interface Part {
  x: number;
  y: number;
  width: number;
  height: number;
  /** Height of the content below this part. */
  left: number;
}

/** Sets back the styles that `expandScroller` changed. @returns whether the content of the scroll container can be drawn in parts */
export function collapseScroller(mark: string): boolean {
  const known: unknown = Reflect.get(globalThis, 'captureStyles');
  for (const [element, style] of known instanceof Map ? known : [])
    if (element instanceof HTMLElement) element.style.cssText = String(style);
  const scroller = findMarked(mark);
  return scroller !== null && scroller !== document.body && shadowRootOf(scroller) === null;
}

/**
 * Prepares the drawing of the scroll container in parts: scrolls it into view, hides what can lie over it, and puts what sticks to its
 * edges in its place in the content.
 */
export function prepareParts(mark: string): void {
  const scroller = findMarked(mark);
  if (scroller === null) return;
  const { top, bottom } = scroller.getBoundingClientRect();
  if (bottom > innerHeight) scrollBy({ top: Math.min(top, bottom - innerHeight), behavior: 'instant' });
  const hidden = elementsBelow(document.body).filter(
    (element) =>
      isApart(element, scroller) && ['fixed', 'sticky'].includes(getComputedStyle(element).position),
  );
  const before = new Map(hidden.map((element) => [element, element.style.cssText]));
  Reflect.set(globalThis, 'captureStyles', before);
  for (const element of hidden) element.style.setProperty('visibility', 'hidden', 'important');
  for (const element of elementsBelow(scroller)) {
    // A list can draw its rows in a window that sticks to the viewport.
    if (getComputedStyle(element).position !== 'sticky' || element.offsetHeight > scroller.clientHeight / 2)
      continue;
    element.style.setProperty('position', 'relative', 'important');
    element.style.setProperty('inset', 'auto', 'important');
  }
}

/**
 * Scrolls a part of the content of the marked element into view.
 *
 * @param from where the part begins, in CSS pixels from the top of the content
 */
export async function showPart(mark: string, from: number): Promise<Part | null> {
  const scroller = findMarked(mark);
  if (scroller === null) return null;
  scroller.scrollTo({ top: from, behavior: 'instant' });
  for (let frame = 0; frame < 2; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
  const { left, top } = scroller.getBoundingClientRect();
  const { clientWidth: width, clientHeight, scrollHeight, scrollTop } = scroller;
  // At the end of the content, the part begins below the edge of the element.
  const above = Math.min(clientHeight, Math.max(0, from - scrollTop));
  const height = clientHeight - above;
  const [x, y] = [left + scroller.clientLeft, top + scroller.clientTop + above];
  return { x, y, width, height, left: Math.max(0, scrollHeight - from - height) };
}

/**
 * Keeps the picture of a part (PNG in base64) for `replaceContent`. A content security policy can block images, but not a canvas.
 *
 * @returns the number of parts
 */
export async function keepPart(picture: string): Promise<number> {
  const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const canvas = document.createElement('canvas');
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
  bitmap.close();
  const known: unknown = Reflect.get(globalThis, 'captureParts');
  const parts = [...(Array.isArray(known) ? known : []), canvas];
  Reflect.set(globalThis, 'captureParts', parts);
  return parts.length;
}

/** Replaces the content of the marked element with the parts that were kept, and shows again what was hidden. */
export function replaceContent(mark: string): void {
  const scroller = findMarked(mark);
  const known: unknown = Reflect.get(globalThis, 'captureParts');
  const parts = (Array.isArray(known) ? known : []).filter((part) => part instanceof HTMLCanvasElement);
  const before: unknown = Reflect.get(globalThis, 'captureStyles');
  for (const [element, style] of before instanceof Map ? before : [])
    if (element instanceof HTMLElement) element.style.cssText = String(style);
  scrollTo({ top: 0, behavior: 'instant' });
  if (scroller === null || parts.length === 0) return;
  const set = (element: HTMLElement, declarations: Readonly<Record<string, string>>): void => {
    for (const [property, value] of Object.entries(declarations))
      element.style.setProperty(property, value, 'important');
  };
  for (const part of parts) set(part, { all: 'initial', display: 'block', width: '100%', height: 'auto' });
  set(scroller, { display: 'block', padding: '0' });
  scroller.scrollTo({ top: 0, behavior: 'instant' });
  scroller.replaceChildren(...parts);
}
