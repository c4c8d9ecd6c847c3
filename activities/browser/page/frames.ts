/// <reference lib="dom" />

// Each of these runs in the page, so it holds all that it uses.

/** Attribute of the frames that are to be drawn, with the number of each. */
export const FRAME = 'data-capture-frame';

/** Marks the frames of other origins below the window, the first `most` of them. Tells how many they are. */
export function findFrames(mark: string, most: number): number {
  const frames = [...document.querySelectorAll('iframe')].filter(
    (frame) =>
      frame.contentDocument === null &&
      frame.getBoundingClientRect().bottom > innerHeight &&
      frame.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
  );
  frames.slice(0, most).forEach((frame, index) => {
    frame.setAttribute(mark, `${index}`);
  });
  return Math.min(most, frames.length);
}

/** Brings a frame into the window. Tells where what it shows lies, in CSS pixels from where the page begins, when it is drawn. */
export async function showFrame(
  mark: string,
  index: number,
): Promise<{ x: number; y: number; width: number; height: number } | null> {
  const frame = document.querySelector(`[${mark}="${index}"]`);
  if (!(frame instanceof HTMLIFrameElement)) return null;
  frame.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
  // The frame hears of it, and draws.
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

/** Puts a picture of a frame (PNG in base64) in its place: a canvas, which no security policy of the page forbids. */
export async function replaceFrame(mark: string, index: number, picture: string): Promise<void> {
  const frame = document.querySelector(`[${mark}="${index}"]`);
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
  // What brought the frame in would begin again.
  for (const property of ['animation', 'transition']) canvas.style.setProperty(property, 'none', 'important');
  frame.replaceWith(canvas);
}
