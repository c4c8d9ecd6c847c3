import { pipeline, type Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { ServiceError } from '../schemas/errors.ts';
import { targetFailed } from './failure.ts';
import { CODINGS, RATIO, RATIO_FLOOR, ZSTD_WINDOW_LOG } from './limits.ts';
import { splitFrames } from './zstd.ts';

type Bytes = AsyncIterable<Buffer>;

/**
 * Whether a `deflate` body starts with a zlib header. RFC 9110 section 8.4.1.2 requires the zlib format (RFC 1950), but some
 * servers send raw deflate data (RFC 1951).
 */
const isZlib = (first: Buffer): boolean => ((first[0] ?? 0) & 0x0f) === 8;

const DECODERS: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: (first) => (isZlib(first) ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
};

/** Thrown when a body exceeds its size limit or the decompression ratio. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/**
 * Reads the codings of a Content-Encoding header, in the order in which the server applied them; null when one of them is
 * unknown and the body therefore cannot be decoded.
 *
 * @throws ServiceError `target_failed` when there are more than `CODINGS`
 */
export function readCodings(field: string | null): string[] | null {
  const codings = (field ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > CODINGS)
    throw targetFailed('protocol', {
      detail: `The target encoded the response body more than ${CODINGS} times.`,
    });
  return codings.every((coding) => Object.hasOwn(DECODERS, coding)) ? codings : null;
}

async function* decodeOne(source: Bytes, coding: string): Bytes & AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  const { value: first, done } = await chunks.next();
  // Many servers send Content-Encoding with an empty body, which decoders would reject.
  if (done === true) return;
  const decoder = DECODERS[coding]?.(first);
  if (decoder === undefined) throw new RangeError(coding);
  async function* whole(): AsyncGenerator<Buffer> {
    yield first;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
  }
  // The callback ignores errors, because the loop below receives them from the decoder.
  pipeline(coding === 'zstd' ? splitFrames(whole()) : whole(), decoder, () => undefined);
  try {
    for await (const chunk of decoder) yield chunk;
  } catch (error) {
    if (error instanceof ServiceError || error instanceof TooLarge) throw error;
    throw targetFailed('protocol', {
      detail: `The response body is cut off or is not valid ${coding} data.`,
      cause: error,
    });
  }
}

/**
 * Decodes a body, with limits on its size and on the ratio of decoded to received bytes. The limits apply to the output of
 * every coding, so that a nested decompression bomb is stopped at its outer layer.
 *
 * @param codings content codings in the order in which the server applied them
 * @throws TooLarge after the bytes within the limits have been yielded; ServiceError `target_failed` for a stream that
 *   cannot be decoded
 */
export async function* decode(
  wire: Bytes,
  codings: readonly string[],
  maxBytes: number,
): AsyncGenerator<Buffer> {
  let received = 0;
  // Compression can make a body slightly longer than `maxBytes`. The limit also stops a body that decodes to no output.
  const wireBytes = codings.length === 0 ? maxBytes : maxBytes + 65_536;

  async function* limited(source: Bytes, most: () => number): AsyncGenerator<Buffer> {
    let given = 0;
    for await (const chunk of source) {
      const left = most() - given;
      if (chunk.length > left) {
        if (left > 0) yield chunk.subarray(0, left);
        throw new TooLarge();
      }
      given += chunk.length;
      yield chunk;
    }
  }
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of wire) {
      received += chunk.length;
      yield chunk;
    }
  }

  let body: Bytes = limited(counted(), () => wireBytes);
  for (const coding of codings.toReversed())
    body = limited(decodeOne(body, coding), () =>
      Math.min(maxBytes, Math.max(RATIO_FLOOR, received * RATIO)),
    );
  yield* body;
}
