/// <reference lib="dom" />
import { elementsBelow, findMarked } from './elements.ts';

// Each function is sent to the page as source code and runs there on its own, with the functions of elements.ts only.

/** Attribute that holds the number of a frame to capture. */
export const FRAME = 'data-capture-frame';

/**
 * Numbers the first `most` cross-origin frames below the viewport with the attribute `mark`.
 *
 * @returns the number of marked frames
 */
export function findFrames(mark: string, most: number): number {
  const frames = elementsBelow(document).filter(
    (frame) =>
      frame instanceof HTMLIFrameElement &&
      frame.contentDocument === null &&
      frame.getBoundingClientRect().bottom > innerHeight &&
      frame.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
  );
  frames.slice(0, most).forEach((frame, index) => {
    frame.setAttribute(mark, `${index}`);
  });
  return Math.min(most, frames.length);
}

/**
 * Scrolls a marked frame into the viewport and waits until it is painted.
 *
 * @returns the box of its content, in CSS pixels from the start of the page; null when the frame no longer exists
 */
export async function showFrame(
  mark: string,
  index: number,
): Promise<{ x: number; y: number; width: number; height: number } | null> {
  const frame = findMarked(`${mark}="${index}"`);
  if (!(frame instanceof HTMLIFrameElement)) return null;
  frame.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
  // Gives the scrolled-to frame three animation frames to paint.
  for (let count = 0; count < 3; count++) await new Promise((resolve) => requestAnimationFrame(resolve));
  const { left, top } = frame.getBoundingClientRect();
  const { paddingLeft, paddingTop, paddingRight, paddingBottom } = getComputedStyle(frame);
  const [before, above] = [Number.parseFloat(paddingLeft), Number.parseFloat(paddingTop)];
  return {
    x: left + scrollX + frame.clientLeft + before,
    y: top + scrollY + frame.clientTop + above,
    width: frame.clientWidth - before - Number.parseFloat(paddingRight),
    height: frame.clientHeight - above - Number.parseFloat(paddingBottom),
  };
}

/**
 * Replaces a frame with its screenshot (PNG in base64) on a canvas. A content security policy can block images, but not
 * a canvas.
 */
export async function replaceFrame(mark: string, index: number, picture: string): Promise<void> {
  const frame = findMarked(`${mark}="${index}"`);
  const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const canvas = document.createElement('canvas');
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
  if (frame === null) return;
  const style = getComputedStyle(frame);
  for (const property of style)
    canvas.style.setProperty(property, style.getPropertyValue(property), 'important');
  // An animation of the replaced frame would start again on the canvas.
  for (const property of ['animation', 'transition']) canvas.style.setProperty(property, 'none', 'important');
  frame.replaceWith(canvas);
}
