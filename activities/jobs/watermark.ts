import type { ToolInput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/watermark-image.ts';
import { blend, type Stamp } from '../images/blend.ts';
import { decodeImage } from '../images/decode.ts';
import { encodeImage } from '../images/encode.ts';
import type { ImageHeader } from '../images/header.ts';
import type { OutputType } from '../images/imageOutput.ts';
import { type Align, makeStamp } from '../images/stamp.ts';

type Input = ToolInput<typeof definition>;

interface WatermarkJob extends Pick<Input, 'text' | 'opacity' | 'position'> {
  bytes: Uint8Array;
  header: ImageHeader;
  type: OutputType;
  /** Maximum number of pixels of all frames together. */
  maxPixels: number;
  /** Epoch milliseconds. */
  deadline: number;
}

/** Font size relative to the short side of the image. */
const RELATIVE_FONT_SIZE = 0.05;
/** Smallest font size that is easy to read, in pixels. Small images use this size if the text fits. */
const MIN_FONT_SIZE = 12;

interface Size {
  width: number;
  height: number;
}

const alignmentOf = (position: Input['position']): Align =>
  position.endsWith('left') ? 'left' : position.endsWith('right') ? 'right' : 'centre';

/** Yields the top left corners of the text stamps. Tiles are staggered like bricks and extend beyond the image's edges. */
function* stampPositions(position: Input['position'], image: Size, stamp: Size, font: number, margin: Size) {
  const middle = {
    left: Math.round((image.width - stamp.width) / 2),
    top: Math.round((image.height - stamp.height) / 2),
  };
  if (position !== 'tile') {
    const [vertical, horizontal] = position.split('-');
    const right = image.width - margin.width - stamp.width;
    const bottom = image.height - margin.height - stamp.height;
    yield horizontal === undefined
      ? middle
      : {
          left: horizontal === 'left' ? margin.width : right,
          top: vertical === 'top' ? margin.height : bottom,
        };
    return;
  }
  const step = { x: stamp.width + Math.ceil(2 * font), y: stamp.height + Math.ceil(2 * font) };
  const rows = Math.ceil(image.height / step.y / 2);
  const columns = Math.ceil(image.width / step.x / 2) + 1;
  for (let row = -rows; row <= rows; row++)
    for (let column = -columns; column <= columns; column++)
      yield {
        left: middle.left + column * step.x + (row % 2 === 0 ? 0 : Math.round(step.x / 2)),
        top: middle.top + row * step.y,
      };
}

/** Draws the text on an image and encodes it in its original format. */
export default async function watermark(job: WatermarkJob): Promise<Uint8Array> {
  const { header, type, text, opacity, position, maxPixels, deadline } = job;
  const bytes = Buffer.from(job.bytes.buffer, job.bytes.byteOffset, job.bytes.length);
  const image = await decodeImage(bytes, header, { pixels: maxPixels, deadline });
  const { width, height } = image;
  const font = Math.max(MIN_FONT_SIZE, RELATIVE_FONT_SIZE * Math.min(width, height));
  const margin = {
    width: Math.round(Math.min(font / 2, width / 20)),
    height: Math.round(Math.min(font / 2, height / 20)),
  };
  const box = { width: width - 2 * margin.width, height: height - 2 * margin.height };
  const stamp: Stamp = await makeStamp({ text, align: alignmentOf(position), size: font }, box);
  for (const { left, top } of stampPositions(position, image, stamp, font, margin))
    blend(image, stamp, left, top, opacity);
  return encodeImage(image, type, header, deadline);
}
