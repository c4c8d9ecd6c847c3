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

/** Servers send `deflate` both as zlib (RFC 1950, required by RFC 9110 section 8.4.1.2) and raw (RFC 1951). */
const isZlib = (first: Buffer): boolean => ((first[0] ?? 0) & 0x0f) === 8;

const DECODERS: Readonly<Record<string, (first: Buffer) => Transform>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: (first) => (isZlib(first) ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
};

/** The body exceeds its limits. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
}

/**
 * The codings of a Content-Encoding field in the order they were applied; null when one of them is unknown and the body
 * therefore cannot be decoded.
 *
 * @throws ServiceError `target_failed` when there are too many
 */
export function readCodings(field: string | null): string[] | null {
  const codings = (field ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length > CODINGS)
    throw targetFailed('protocol', { detail: `The body is encoded more than ${CODINGS} times.` });
  return codings.every((coding) => Object.hasOwn(DECODERS, coding)) ? codings : null;
}

async function* decodeOne(source: Bytes, coding: string): Bytes & AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  const { value: first, done } = await chunks.next();
  // Many servers name a coding for an empty body.
  if (done === true) return;
  const decoder = DECODERS[coding]?.(first);
  if (decoder === undefined) throw new RangeError(coding);
  async function* whole(): AsyncGenerator<Buffer> {
    yield first;
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
  }
  // Errors surface when reading from the decoder.
  pipeline(coding === 'zstd' ? splitFrames(whole()) : whole(), decoder, () => undefined);
  try {
    for await (const chunk of decoder) yield chunk;
  } catch (error) {
    if (error instanceof ServiceError || error instanceof TooLarge) throw error;
    throw targetFailed('protocol', { detail: `The body is no whole ${coding} stream.`, cause: error });
  }
}

/**
 * Decodes a body within limits of size and of growth over the received bytes. The limits apply to the output of every
 * coding, so that a nested bomb is stopped at its outer layer.
 *
 * @param codings in the order they were applied
 * @throws TooLarge after the allowed part has been yielded; ServiceError `target_failed` for a broken stream
 */
export async function* decode(
  wire: Bytes,
  codings: readonly string[],
  maxBytes: number,
): AsyncGenerator<Buffer> {
  let received = 0;
  // A coding may make a body slightly longer. Input beyond that without output is a bomb too.
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
