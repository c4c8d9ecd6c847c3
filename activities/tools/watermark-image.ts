import { ServiceError } from '../../schemas/errors.ts';
import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import definition from '../../schemas/tools/watermark-image.ts';
import { readSourceFile } from '../download/sourceFile.ts';
import { readImageHeader } from '../images/header.ts';
import { imageOutput } from '../images/imageOutput.ts';
import { lossesOf } from '../images/losses.ts';
import type watermark from '../jobs/watermark.ts';
import type { NetworkContext } from '../runtime/context.ts';

const SOURCE_BYTES = 20 * 1024 * 1024;
const SOURCE_PIXELS = 40_000_000;
/** Timeout of the download in milliseconds. The rest of the time limit suffices for an image of the largest size. */
const DOWNLOAD_MS = 20_000;
/** Milliseconds reserved for returning the result before the attempt times out. */
const MARGIN_MS = 500;

/** Reads an image and draws text on it. */
export async function run(
  { fileUrl, text, opacity, position }: ToolInput<typeof definition>,
  { egress, file, offload, signal, deadline: attemptEnd }: Omit<NetworkContext, 'resolver'>,
): Promise<ToolOutput<typeof definition>> {
  const deadline = Math.min(attemptEnd, Date.now() + definition.limits.workMs) - MARGIN_MS;
  const { bytes, source } = await readSourceFile({ egress, file }, fileUrl, {
    maxBytes: SOURCE_BYTES,
    signal,
    deadline: Math.min(deadline, Date.now() + DOWNLOAD_MS),
  });
  const header = readSupported(bytes);
  const input = {
    bytes,
    header,
    type: header.type,
    text,
    opacity,
    position,
    maxPixels: SOURCE_PIXELS,
    deadline,
  };
  const marked = await offload<typeof watermark>('watermark', input, { signal, deadline });
  return { ...imageOutput(marked, header.type, source), losses: lossesOf(bytes, header) };
}

function readSupported(bytes: Buffer) {
  const read = readImageHeader(bytes);
  if (read === null || read.type === 'bmp')
    throw new ServiceError('unsupported_source', { detail: 'The file is not a PNG, JPEG or WebP image.' });
  const { type, header } = read;
  if (header === null) throw new ServiceError('corrupt_source');
  const { width, height, frames } = header;
  if (width * height * frames > SOURCE_PIXELS)
    throw new ServiceError('source_too_large', {
      detail: `The image has ${width} x ${height} pixels${frames > 1 ? ` in ${frames} frames` : ''}; the limit is 40 megapixels.`,
    });
  return { ...header, type };
}
