import { ServiceError } from '../../schemas/errors.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/image-upscale.ts';
import { readSourceFile } from '../download/sourceFile.ts';
import { type ImageHeader, readImageHeader } from '../images/header.ts';
import { imageOutput, MAX_SIDE, type OutputType } from '../images/imageOutput.ts';
import { lossesOf } from '../images/losses.ts';
import type upscaleJob from '../jobs/upscale.ts';
import type { NetworkContext } from '../runtime/context.ts';

const SOURCE_BYTES = 10 * 1024 * 1024;
const NAMES = { png: 'PNG', jpeg: 'JPEG', webp: 'WebP' } as const satisfies Record<OutputType, string>;
const OUTPUT_PIXELS = 16_000_000;
/** Timeout of the download in milliseconds. The rest of the time limit suffices for an image of the largest size. */
const DOWNLOAD_MS = 15_000;
/** Milliseconds reserved for returning the result before the attempt times out. */
const MARGIN_MS = 500;

/** Reads and enlarges an image. */
export async function run(
  { fileUrl, factor }: ToolInput<typeof definition>,
  { egress, file, offload, signal, deadline: attemptEnd }: Omit<NetworkContext, 'resolver'>,
): Promise<ToolOutput<typeof definition>> {
  const deadline = Math.min(attemptEnd, Date.now() + definition.limits.workMs) - MARGIN_MS;
  const { bytes, source } = await readSourceFile({ egress, file }, fileUrl, {
    maxBytes: SOURCE_BYTES,
    signal,
    deadline: Math.min(deadline, Date.now() + DOWNLOAD_MS),
  });
  const maxPixels = OUTPUT_PIXELS / factor ** 2;
  const header = readSupported(bytes, factor, maxPixels);
  const type = header.type === 'bmp' ? 'png' : header.type;
  checkSides(header, factor, type);
  const input = { bytes, header, factor, type, maxPixels, deadline };
  const large = await offload<typeof upscaleJob>('upscale', input, { signal, deadline });
  return { ...imageOutput(large, type, source), losses: lossesOf(bytes, header), factor };
}

function readSupported(bytes: Buffer, factor: number, maxPixels: number) {
  const read = readImageHeader(bytes);
  if (read === null)
    throw new ServiceError('unsupported_source', {
      detail: 'The file is not a PNG, JPEG, WebP or BMP image.',
    });
  const { header } = read;
  if (header === null) throw new ServiceError('corrupt_source');
  if (header.frames > 1 || header.animatedPng)
    throw new ServiceError('unsupported_source', { detail: 'The file is an animation. Use a still image.' });
  if (header.width * header.height > maxPixels)
    throw new ServiceError('source_too_large', {
      detail: `The image has ${header.width} x ${header.height} pixels; the limit at factor ${factor} is ${maxPixels / 1e6} megapixels.`,
    });
  return header;
}

/** Rejects results that the output type cannot store. Checks the larger side, which no rotation changes. */
function checkSides({ width, height }: ImageHeader, factor: number, type: OutputType): void {
  const side = Math.max(width, height) * factor;
  if (side > MAX_SIDE[type])
    throw new ServiceError('output_too_large', {
      detail: `The result would be ${width * factor} x ${height * factor} pixels; a ${NAMES[type]} image has at most ${MAX_SIDE[type]} pixels per side.`,
    });
}
