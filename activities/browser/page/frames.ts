/// <reference lib="dom" />
import { elementsBelow, findMarked } from './elements.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/** Attribute that holds the number of a frame to capture. */
export const FRAME = 'data-capture-frame';

/**
 * Numbers the first `most` frames outside the viewport that are cross-origin, or contain frames, with the attribute `mark`.
 *
 * @returns the number of marked frames
 */
export function findFrames(mark: string, most: number): number {
  const isFrame = (element: Element) => element.matches('iframe, object, embed');
  const isForeign = (element: HTMLElement): boolean => {
    if (element instanceof HTMLObjectElement && element.contentWindow === null) return false;
    const hasDocument = element instanceof HTMLIFrameElement || element instanceof HTMLObjectElement;
    const inner = hasDocument ? element.contentDocument : null;
    return inner === null || elementsBelow(inner).some(isFrame);
  };
  const isOutside = (element: HTMLElement): boolean => {
    const { left, right, bottom } = element.getBoundingClientRect();
    return bottom > innerHeight || left < 0 || right > innerWidth;
  };
  const frames = elementsBelow(document).filter(
    (element) =>
      isFrame(element) &&
      isOutside(element) &&
      isForeign(element) &&
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
  );
  frames.slice(0, most).forEach((frame, index) => {
    frame.setAttribute(mark, `${index}`);
  });
  return Math.min(most, frames.length);
}

/** Attribute of a frame that fills the viewport of a page that does not scroll. */
export const FILLING = 'data-capture-filling';

/** Sets the attribute `mark` on the frame that covers half of the viewport at least, unless the page itself scrolls. */
export function findFilling(mark: string): boolean {
  const page = document.scrollingElement ?? document.documentElement;
  if (page.scrollHeight > innerHeight * 1.5) return false;
  const filling = elementsBelow(document).find(
    (element) =>
      element instanceof HTMLIFrameElement &&
      element.clientWidth * element.clientHeight >= (innerWidth * innerHeight) / 2 &&
      element.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
  );
  filling?.setAttribute(mark, '');
  return filling !== undefined;
}

/** Gives the marked frame a height in CSS pixels. @returns its `style` attribute before */
export function setFrameHeight(mark: string, height: number): string {
  const frame = findMarked(mark);
  const before = frame?.style.cssText ?? '';
  frame?.style.setProperty('height', `${height}px`, 'important');
  return before;
}

export function setFrameStyle(mark: string, css: string): void {
  const frame = findMarked(mark);
  if (frame !== null) frame.style.cssText = css;
}

/** A part of the content of a frame, in CSS pixels from the start of the page. */
interface Piece {
  x: number;
  y: number;
  width: number;
  height: number;
  /** Height of the content below this part. */
  left: number;
}

/**
 * Scrolls a part of a marked frame, half as high as the viewport, to the middle of the viewport, away from bars at its edges, and
 * waits until it is painted.
 *
 * @param from where the part begins, in CSS pixels from the top of the frame's content
 * @returns null when the frame no longer exists
 */
export async function showFrame(mark: string, index: number, from: number): Promise<Piece | null> {
  const frame = findMarked(`${mark}="${index}"`);
  if (frame === null) return null;
  // A transform can show the frame larger or smaller.
  const ratio = frame.getBoundingClientRect().width / frame.offsetWidth;
  const { paddingLeft, paddingTop, paddingRight, paddingBottom } = getComputedStyle(frame);
  const before = (frame.clientLeft + Number.parseFloat(paddingLeft)) * ratio;
  const above = (frame.clientTop + Number.parseFloat(paddingTop)) * ratio;
  const inset = Number.parseFloat(paddingTop) + Number.parseFloat(paddingBottom);
  const whole = (frame.clientHeight - inset) * ratio;
  const height = Math.min(whole - from, Math.floor(innerHeight / 2));
  const topOf = () => frame.getBoundingClientRect().top + above + from;
  const box = frame.getBoundingClientRect();
  const isBeside = box.left < 0 || box.right > innerWidth;
  // Only the page is scrolled: what a box around the frame hides of it stays hidden.
  scrollBy({
    left: isBeside ? box.left - (innerWidth - box.width) / 2 : 0,
    top: topOf() - (innerHeight - height) / 2,
    behavior: 'instant',
  });
  // Gives the scrolled-to frame three animation frames to paint.
  for (let count = 0; count < 3; count++) await new Promise((resolve) => requestAnimationFrame(resolve));
  return {
    x: frame.getBoundingClientRect().left + scrollX + before,
    y: topOf() + scrollY,
    width: (frame.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight)) * ratio,
    height,
    left: whole - from - height,
  };
}

/**
 * Adds a part of the screenshot of a frame (PNG in base64) to a canvas, and replaces the frame with it once it is whole. A
 * content security policy can block images, but not a canvas.
 *
 * @param from where the part begins, as in `showFrame`
 * @param height height of the part
 * @param left height of the content below the part
 */
export async function replaceFrame(
  mark: string,
  index: number,
  picture: string,
  from: number,
  height: number,
  left: number,
): Promise<void> {
  const frame = findMarked(`${mark}="${index}"`);
  const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const known: unknown = from === 0 ? null : Reflect.get(globalThis, 'captureCanvas');
  const canvas = known instanceof HTMLCanvasElement ? known : document.createElement('canvas');
  const scale = bitmap.height / height;
  if (from === 0) {
    canvas.width = bitmap.width;
    canvas.height = Math.round((height + left) * scale);
    Reflect.set(globalThis, 'captureCanvas', canvas);
  }
  canvas.getContext('2d')?.drawImage(bitmap, 0, Math.round(from * scale));
  if (frame === null || left > 0) return;
  const style = getComputedStyle(frame);
  for (const property of style)
    canvas.style.setProperty(property, style.getPropertyValue(property), 'important');
  for (const name of frame.getAttributeNames())
    if (name.startsWith('data-')) canvas.setAttribute(name, frame.getAttribute(name) ?? '');
  // An animation of the replaced frame would start again on the canvas.
  for (const property of ['animation', 'transition']) canvas.style.setProperty(property, 'none', 'important');
  frame.replaceWith(canvas);
}
