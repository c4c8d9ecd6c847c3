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
import { RATIO, RATIO_FLOOR, ZSTD_WINDOW_LOG } from './limits.ts';
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

/**
 * Codings that this service does not decode: those of the IANA registry of HTTP content codings, and compression formats that
 * servers name without registration.
 */
const UNDECODED: ReadonlySet<string> = new Set([
  ...['aes128gcm', 'compress', 'x-compress', 'dcb', 'dcz', 'exi', 'pack200-gzip'],
  ...['aesgcm', 'sdch', 'bzip2', 'x-bzip2', 'bzip', 'x-bzip', 'lzma', 'x-lzma', 'xz', 'x-xz', 'lzip', 'lz4'],
  ...['snappy', 'x-snappy-framed', 'peerdist', 'xpress', 'brotli'],
]);

/** The limit of a body: its size, or its growth by decompression. */
export type BodyLimit = 'size' | 'ratio';

/** Thrown when a body exceeds one of its limits. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge';
  readonly limit: BodyLimit;
  constructor(limit: BodyLimit) {
    super(limit);
    this.limit = limit;
  }
}

/**
 * Reads the content codings of a response, in the order in which the server applied them; null when one of them is not
 * supported and the body therefore cannot be decoded. Words that name no coding, such as `none`, `UTF-8` or `aws-chunked`, are
 * ignored, as browsers do.
 *
 * @param field value of the Content-Encoding header; null when there is none
 */
export function readCodings(field: string | null): string[] | null {
  const words = (field ?? '')
    .toLowerCase()
    .split(',')
    .map((word) => word.trim());
  if (words.some((word) => UNDECODED.has(word))) return null;
  return words.filter((word) => Object.hasOwn(DECODERS, word));
}

/** Whether `decode` supports a coding. */
export const isDecoded = (coding: string): boolean => Object.hasOwn(DECODERS, coding);

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
        throw new TooLarge(most() < maxBytes ? 'ratio' : 'size');
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
