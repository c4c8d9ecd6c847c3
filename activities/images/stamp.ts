import sharp from 'sharp';
import { invalidInput } from '../../schemas/errors.ts';
import type { Stamp } from './blend.ts';

/** Font of the text. Pango falls back to other installed fonts for glyphs that this font does not contain. */
const FAMILY = 'Noto Sans Bold';
/**
 * Font size in pixels for measuring a text. At this size, 200 of the widest graphemes fit into Cairo's limit of 32,767
 * pixels.
 */
const MEASURING_SIZE = 12;
/**
 * Smallest font size in pixels at which text is drawn. If a text does not fit at this size, the finished stamp is
 * scaled down.
 */
const MIN_SIZE = 4;
/** Width of the dark outline as a share of the font size. */
const OUTLINE = 0.1;
/**
 * Factor by which the blurred glyphs are amplified, so that the outline is nearly black next to the glyphs before it
 * fades.
 */
const OUTLINE_GAIN = 4;
const MAX_STEPS = 24;
/** Largest width of a line in pixels that libvips accepts. */
const MAX_LINE_WIDTH = 1_000_000;
/** Words are broken across lines if keeping them whole would shrink the text below this share of the requested size. */
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
  /** Where lines may break: between words only, or also within a word that is longer than a line. */
  wrap: 'word' | 'word-char';
}

interface Box {
  width: number;
  height: number;
}

const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Draws text in white glyphs and coloured emoji, in lines of at most `width` pixels unless a word is longer. */
async function drawText({ text, align, size, wrap }: TextOptions, width: number): Promise<Stamp> {
  // Pango measures font sizes in 1/1024 of a point. At 72 dpi a point is a pixel.
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

/** Finds the largest font size at which the text fits into the box. Lines are broken again for each size. */
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

/** Adds a dark outline to drawn text, which keeps the text readable on a light background. */
async function addOutline(text: Stamp, size: number): Promise<Stamp> {
  const pad = Math.ceil(size * OUTLINE) + 1;
  const padded = await sharp(text.data, { raw: { width: text.width, height: text.height, channels: RGBA } })
    .extend({ top: pad, bottom: pad, left: pad, right: pad, background: { r: 0, g: 0, b: 0, alpha: 0 } })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height } = padded.info;
  const raw = { width, height, channels: RGBA } as const;
  // Uses a separate pipeline, because sharp extracts channels only after all other operations of a pipeline.
  const alpha = await sharp(padded.data, { raw }).extractChannel('alpha').raw().toBuffer();
  const spread = await sharp(alpha, { raw: { width, height, channels: 1 } })
    .blur(Math.max(0.5, (size * OUTLINE) / 2.5))
    .linear(OUTLINE_GAIN, 0)
    .toColourspace('b-w')
    .raw()
    .toBuffer();
  const outline = Buffer.alloc(width * height * RGBA);
  for (let pixel = 0; pixel < spread.length; pixel++) outline[pixel * RGBA + 3] = spread[pixel] ?? 0;
  // Jimp is imported on first use, because it loads all its formats, which takes about 100 ms.
  const { Jimp } = await import('jimp');
  const stamp = new Jimp({ data: outline, width, height });
  stamp.composite(new Jimp({ data: padded.data, width, height }));
  return { data: stamp.bitmap.data, width, height };
}

const invisibleText = () => invalidInput([{ pointer: '/text', message: 'has no visible characters' }]);

/**
 * Draws text as a light stamp with a dark outline. Pango shapes the text (any script, both directions, emoji). The font
 * size is the requested size, or the largest smaller size at which the text fits into the box.
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
