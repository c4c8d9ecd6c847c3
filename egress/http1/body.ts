import type { ResponseWarning } from '../../schemas/formats/responseWarnings.ts';
import { failureKind, targetFailed } from '../failure.ts';
import { type Head, type Header, readTrailers, type Warn } from './head.ts';
import type { Reader } from './reader.ts';

/** How a body is delimited (RFC 9112 section 6.3). */
interface Framing {
  /** Length in bytes; null when the body is chunked or ends when the connection closes. */
  length: number | null;
  chunked: boolean;
  /** Transfer codings that the server applied before `chunked`, in the order in which it applied them. */
  codings: string[];
}

/** A final response whose body has not been read. */
export interface Message extends Head {
  /** The interim responses (1xx) before it, in order. */
  interim: readonly Head[];
  framing: Framing;
  /** The body with `chunked` decoded; all other codings are still applied. */
  body: AsyncIterable<Buffer>;
  /** Headers after a chunked body; complete after the body has been read. */
  trailers: readonly Header[];
  /** Deviations from the HTTP standard; complete after the body has been read. */
  warnings: ReadonlySet<ResponseWarning>;
  close(): void;
}

/** What the end of a body tells beside its bytes. */
export interface Observed {
  warn: Warn;
  /** Receives the headers of the trailer section. */
  trailers: Header[];
  /** Whether the connection, which has ended, may have been cut off: it used TLS and ended without `close_notify`. */
  isCut: () => boolean;
  /** Whether the request had a body: a server that has not read all of it resets the connection when it closes it. */
  mayReset: boolean;
}

/** Maximum length in bytes of the line before a chunk, with the chunk's size and its extensions, which are ignored. */
const CHUNK_LINE_BYTES = 16 * 1024;
/** The line before a chunk (RFC 9112 section 7.1). Twelve hexadecimal digits exceed every size limit of this service. */
const CHUNK_LINE = /^0*([0-9a-f]{1,12})[\t ]*(?:;|$)/i;

/** The lower-case members of all headers with a name, whose values form one comma-separated list. */
const listOf = ({ headers }: Head, name: string): string[] =>
  headers
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((member) => member.trim());

function readLength(lengths: readonly string[], warn: Warn): number | null {
  const [first, ...rest] = lengths;
  if (first === undefined) return null;
  if (!/^\d+$/.test(first) || rest.some((length) => length !== first))
    throw targetFailed('protocol', { detail: 'The target sent an invalid Content-Length header.' });
  if (rest.length > 0) warn('repeated_content_length');
  return Number(first);
}

/**
 * Determines how the body of a final response is delimited.
 *
 * @param method method of the request
 * @throws ServiceError `target_failed` when Content-Length is invalid or has different values, and when a transfer coding
 *   was applied after `chunked`
 */
export function readFraming(head: Head, method: string, warn: Warn): Framing {
  const { status } = head;
  if (method === 'HEAD' || status === 204 || status === 304)
    return { length: 0, chunked: false, codings: [] };
  const lengths = listOf(head, 'content-length');
  const transfer = listOf(head, 'transfer-encoding').filter(
    // `identity`, which changes nothing, was a transfer coding in RFC 2616 section 3.6; later RFCs removed it.
    (coding) => coding !== '' && coding !== 'identity',
  );
  if (transfer.length === 0) return { length: readLength(lengths, warn), chunked: false, codings: [] };
  if (lengths.length > 0) warn('length_and_transfer_encoding');
  const codings = transfer.filter((coding) => coding !== 'chunked');
  const times = transfer.length - codings.length;
  if (times > 0 && transfer.slice(codings.length).some((coding) => coding !== 'chunked'))
    throw targetFailed('protocol', {
      detail: 'The target sent a Transfer-Encoding header with a coding after chunked.',
    });
  if (times > 1) warn('repeated_chunked');
  return { length: null, chunked: times > 0, codings };
}

/** Status codes from here on refuse a request (RFC 9110 section 15). */
export const REFUSALS = 400;

async function* readExactly(reader: Reader, bytes: number): AsyncGenerator<Buffer> {
  for (let left = bytes; left > 0; ) {
    const chunk = await reader.some(left);
    if (chunk === null) throw targetFailed('reset');
    left -= chunk.length;
    yield chunk;
  }
}

async function readChunkLine(reader: Reader, warn: Warn): Promise<string> {
  const line = (await reader.line(CHUNK_LINE_BYTES)).toString('latin1');
  if (!line.endsWith('\r')) warn('bare_lf');
  return line.replace(/\r$/, '');
}

async function* readChunks(reader: Reader, { warn, trailers }: Observed): AsyncGenerator<Buffer> {
  for (;;) {
    const [, digits] = CHUNK_LINE.exec(await readChunkLine(reader, warn)) ?? [];
    if (digits === undefined) throw targetFailed('protocol');
    const size = Number.parseInt(digits, 16);
    if (size === 0) break;
    yield* readExactly(reader, size);
    if ((await readChunkLine(reader, warn)) !== '') throw targetFailed('protocol');
  }
  trailers.push(...(await readTrailers(reader, warn)));
}

async function* readToEnd(reader: Reader, { warn, isCut, mayReset }: Observed): AsyncGenerator<Buffer> {
  for (;;) {
    const chunk = await reader.some(Infinity).catch((error: unknown) => {
      if (mayReset && reader.wasReset) return null;
      throw error;
    });
    if (chunk === null) break;
    yield chunk;
  }
  if (reader.wasReset) warn('connection_reset');
  if (isCut()) warn('missing_close_notify');
}

/**
 * Reads the body of a refusal. If the server resets the connection, its system discards what it has not sent: then the part that has
 * arrived is the body.
 */
async function* readUntilReset(
  body: AsyncGenerator<Buffer>,
  reader: Reader,
  { warn, isCut }: Observed,
): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch (error) {
    // After a failed write, a reset is read as the end of the connection; TLS then lacks `close_notify`.
    if (failureKind(error) !== 'reset' || !(reader.wasReset || isCut())) throw error;
    warn('connection_reset');
  }
}

/**
 * Reads a body and decodes `chunked`; other codings stay applied.
 *
 * @param observed receives what else the end of the body tells
 * @throws ServiceError `target_failed` for a body that is not a valid sequence of chunks, and for one that is cut off unless it is
 *   that of a refusal of a request with a body
 */
export function readBody(
  reader: Reader,
  { length, chunked }: Framing,
  status: number,
  observed: Observed,
): AsyncGenerator<Buffer> {
  if (length === null && !chunked) return readToEnd(reader, observed);
  const body = chunked ? readChunks(reader, observed) : readExactly(reader, length ?? 0);
  return observed.mayReset && status >= REFUSALS ? readUntilReset(body, reader, observed) : body;
}
