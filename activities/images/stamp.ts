import sharp from 'sharp';
import { invalidInput } from '../../schemas/errors.ts';
import type { Stamp } from './blend.ts';

/** Pango takes what Noto Sans lacks from whatever fonts there are. */
const FAMILY = 'Noto Sans Bold';
/** Pixels a layout is measured at. Cairo draws up to 32,767, which 200 of the widest graphemes stay below. */
const MEASURED = 12;
/** Pixels below which glyphs lose their shape: from there on the finished stamp is made smaller instead. */
const SMALLEST = 4;
/** How far the dark edge reaches beyond the glyphs, of the font's size. */
const EDGE = 0.1;
/** On the blurred glyphs: makes the edge nearly black beside them before it fades. */
const EDGE_GAIN = 4;
const SHRINKS = 24;
/** Pixels; libvips takes no wider line, and no text needs one. */
const WIDEST_LINE = 1_000_000;
/** Of the size asked for: to keep a long word whole, the text is not made smaller than this. */
const MUCH_SMALLER = 0.6;
const RGBA = 4;

export type Align = 'left' | 'centre' | 'right';

interface StampOptions {
  text: string;
  align: Align;
  /** Pixels an em. */
  size: number;
}
interface TextOptions extends StampOptions {
  /** Where lines may break: between words, or within those that are longer than a line as well. */
  wrap: 'word' | 'word-char';
}

interface Box {
  width: number;
  height: number;
}

const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** White glyphs, emoji in their colours, in lines of at most `width` pixels where the words allow it. */
async function drawText({ text, align, size, wrap }: TextOptions, width: number): Promise<Stamp> {
  // Pango's own unit, 1/1024 of a point: at 72 dpi a point is a pixel.
  const markup = `<span foreground="white" size="${Math.round(size * 1024)}">${escapeMarkup(text)}</span>`;
  const options = { font: FAMILY, dpi: 72, rgba: true, wrap, align } as const;
  try {
    const { data, info } = await sharp({
      text: { ...options, text: markup, width: Math.min(WIDEST_LINE, Math.max(1, Math.floor(width))) },
    })
      .raw()
      .toBuffer({ resolveWithObject: true });
    return { data, width: info.width, height: info.height };
  } catch (error) {
    if (error instanceof Error && error.message.includes('no text to render'))
      throw invalidInput([{ pointer: '/text', message: 'has nothing in it that can be drawn' }]);
    throw error;
  }
}

/** The size at which the text fits into the box, lines broken anew each time. Layouts grow with their size. */
async function fittingSize(options: TextOptions, box: Box): Promise<number> {
  let { size } = options;
  for (let step = 0; step < SHRINKS && size > SMALLEST; step++) {
    const scale = MEASURED / size;
    const room = { width: box.width * scale, height: box.height * scale };
    const measured = await drawText({ ...options, size: MEASURED }, room.width);
    if (measured.width <= room.width && measured.height <= room.height) return size;
    const shrink = Math.min(room.width / measured.width, Math.sqrt(room.height / measured.height));
    size *= Math.max(0.5, Math.min(0.97, shrink));
  }
  return Math.max(SMALLEST, size);
}

/** The text with a dark edge around it, which keeps it readable on light ground. */
async function addEdge(text: Stamp, size: number): Promise<Stamp> {
  const pad = Math.ceil(size * EDGE) + 1;
  const padded = await sharp(text.data, { raw: { width: text.width, height: text.height, channels: RGBA } })
    .extend({ top: pad, bottom: pad, left: pad, right: pad, background: { r: 0, g: 0, b: 0, alpha: 0 } })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height } = padded.info;
  const raw = { width, height, channels: RGBA } as const;
  // Apart, because sharp takes a channel out at the end of a pipeline, wherever it is asked to.
  const alpha = await sharp(padded.data, { raw }).extractChannel('alpha').raw().toBuffer();
  const spread = await sharp(alpha, { raw: { width, height, channels: 1 } })
    .blur(Math.max(0.5, (size * EDGE) / 2.5))
    .linear(EDGE_GAIN, 0)
    .toColourspace('b-w')
    .raw()
    .toBuffer();
  const edge = Buffer.alloc(width * height * RGBA);
  for (let pixel = 0; pixel < spread.length; pixel++) edge[pixel * RGBA + 3] = spread[pixel] ?? 0;
  // All its formats are loaded with it, which takes some tenths of a second: so not before somebody wants a stamp.
  const { Jimp } = await import('jimp');
  const stamp = new Jimp({ data: edge, width, height });
  stamp.composite(new Jimp({ data: padded.data, width, height }));
  return { data: stamp.bitmap.data, width, height };
}

/**
 * A text as a light stamp with a dark edge, shaped by Pango (any script, both directions, emoji), at the size asked for or
 * at the largest below it that fits.
 *
 * @throws ServiceError invalid_input when nothing of the text can be seen
 */
export async function makeStamp(options: StampOptions, box: Box): Promise<Stamp> {
  let fitting: TextOptions = {
    ...options,
    wrap: 'word',
    size: await fittingSize({ ...options, wrap: 'word' }, box),
  };
  if (fitting.size < options.size * MUCH_SMALLER) {
    const broken = await fittingSize({ ...options, wrap: 'word-char' }, box);
    if (broken >= fitting.size) fitting = { ...options, wrap: 'word-char', size: broken };
  }
  const stamp = await addEdge(await drawText(fitting, box.width), fitting.size);
  if (!stamp.data.some((value) => value !== 0))
    throw invalidInput([{ pointer: '/text', message: 'has nothing in it that can be drawn' }]);
  if (stamp.width <= box.width && stamp.height <= box.height) return stamp;
  const { data, info } = await sharp(stamp.data, {
    raw: { width: stamp.width, height: stamp.height, channels: RGBA },
  })
    .resize({ ...box, fit: 'inside' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height };
}
