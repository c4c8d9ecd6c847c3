import sharp from 'sharp';
import { invalidInput } from '../../schemas/errors.ts';
import type { Stamp } from './blend.ts';

/** Pango falls back to other installed fonts for missing glyphs. */
const FAMILY = 'Noto Sans Bold';
/** Font size for measuring a layout, pixels. At this size, 200 of the widest graphemes fit Cairo's limit of 32,767. */
const MEASURING_SIZE = 12;
/** Smallest legible font size, pixels. For smaller text, the finished stamp is scaled down instead. */
const MIN_SIZE = 4;
/** Width of the dark outline relative to the font size. */
const OUTLINE = 0.1;
/** Gain applied to the blurred glyphs, which makes the outline nearly black next to them before it fades. */
const OUTLINE_GAIN = 4;
const MAX_STEPS = 24;
/** libvips's limit for the width of a line, pixels. */
const MAX_LINE_WIDTH = 1_000_000;
/** Words are broken if keeping them whole would shrink the text below this share of the requested size. */
const MIN_UNBROKEN_SCALE = 0.6;
const RGBA = 4;

export type Align = 'left' | 'centre' | 'right';

interface StampOptions {
  text: string;
  align: Align;
  /** Font size, pixels per em. */
  size: number;
}
interface TextOptions extends StampOptions {
  /** Breaks lines between words only, or also within words that are longer than a line. */
  wrap: 'word' | 'word-char';
}

interface Box {
  width: number;
  height: number;
}

const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Draws white glyphs and coloured emoji, in lines of at most `width` pixels unless a word is longer. */
async function drawText({ text, align, size, wrap }: TextOptions, width: number): Promise<Stamp> {
  // Pango's unit is 1/1024 point. At 72 dpi a point is a pixel.
  const markup = `<span foreground="white" size="${Math.round(size * 1024)}">${escapeMarkup(text)}</span>`;
  const options = { font: FAMILY, dpi: 72, rgba: true, wrap, align } as const;
  try {
    const { data, info } = await sharp({
      text: { ...options, text: markup, width: Math.min(MAX_LINE_WIDTH, Math.max(1, Math.floor(width))) },
    })
      .raw()
      .toBuffer({ resolveWithObject: true });
    return { data, width: info.width, height: info.height };
  } catch (error) {
    if (error instanceof Error && error.message.includes('no text to render')) throw invisibleText();
    throw error;
  }
}

/** Finds the largest font size at which the text fits into the box, with new line breaks for each size. */
async function fittingSize(options: TextOptions, box: Box): Promise<number> {
  let { size } = options;
  for (let step = 0; step < MAX_STEPS && size > MIN_SIZE; step++) {
    const scale = MEASURING_SIZE / size;
    const room = { width: box.width * scale, height: box.height * scale };
    const measured = await drawText({ ...options, size: MEASURING_SIZE }, room.width);
    if (measured.width <= room.width && measured.height <= room.height) return size;
    const shrink = Math.min(room.width / measured.width, Math.sqrt(room.height / measured.height));
    size *= Math.max(0.5, Math.min(0.97, shrink));
  }
  return Math.max(MIN_SIZE, size);
}

/** Adds a dark outline, which keeps the text readable on a light background. */
async function addOutline(text: Stamp, size: number): Promise<Stamp> {
  const pad = Math.ceil(size * OUTLINE) + 1;
  const padded = await sharp(text.data, { raw: { width: text.width, height: text.height, channels: RGBA } })
    .extend({ top: pad, bottom: pad, left: pad, right: pad, background: { r: 0, g: 0, b: 0, alpha: 0 } })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height } = padded.info;
  const raw = { width, height, channels: RGBA } as const;
  // A separate pipeline, because sharp always extracts channels at the end of a pipeline.
  const alpha = await sharp(padded.data, { raw }).extractChannel('alpha').raw().toBuffer();
  const spread = await sharp(alpha, { raw: { width, height, channels: 1 } })
    .blur(Math.max(0.5, (size * OUTLINE) / 2.5))
    .linear(OUTLINE_GAIN, 0)
    .toColourspace('b-w')
    .raw()
    .toBuffer();
  const outline = Buffer.alloc(width * height * RGBA);
  for (let pixel = 0; pixel < spread.length; pixel++) outline[pixel * RGBA + 3] = spread[pixel] ?? 0;
  // Imported on first use, because Jimp loads all its formats, which takes some 100 ms.
  const { Jimp } = await import('jimp');
  const stamp = new Jimp({ data: outline, width, height });
  stamp.composite(new Jimp({ data: padded.data, width, height }));
  return { data: stamp.bitmap.data, width, height };
}

const invisibleText = () => invalidInput([{ pointer: '/text', message: 'has no visible characters' }]);

/**
 * Draws a text as a light stamp with a dark outline, shaped by Pango (any script, both directions, emoji). Uses the
 * requested size, or the largest smaller size that fits into the box.
 *
 * @throws ServiceError invalid_input when the text has no visible characters
 */
export async function makeStamp(options: StampOptions, box: Box): Promise<Stamp> {
  let fitting: TextOptions = {
    ...options,
    wrap: 'word',
    size: await fittingSize({ ...options, wrap: 'word' }, box),
  };
  if (fitting.size < options.size * MIN_UNBROKEN_SCALE) {
    const broken = await fittingSize({ ...options, wrap: 'word-char' }, box);
    if (broken >= fitting.size) fitting = { ...options, wrap: 'word-char', size: broken };
  }
  const stamp = await addOutline(await drawText(fitting, box.width), fitting.size);
  if (!stamp.data.some((value) => value !== 0)) throw invisibleText();
  if (stamp.width <= box.width && stamp.height <= box.height) return stamp;
  const { data, info } = await sharp(stamp.data, {
    raw: { width: stamp.width, height: stamp.height, channels: RGBA },
  })
    .resize({ ...box, fit: 'inside' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}
