import { ServiceError } from '../schemas/errors.ts';
import type { ResponseWarning } from '../schemas/formats/responseWarnings.ts';
import type { Clock } from './clock.ts';
import { collect } from './collect.ts';
import { type BodyLimit, decode, isDecoded, readCodings, TooLarge } from './decode.ts';
import { targetFailed } from './failure.ts';
import type { Message } from './http1/body.ts';
import type { Head, Header } from './http1/head.ts';
import { CODINGS, HEADER_COUNT, RATIO, RATIO_FLOOR } from './limits.ts';
import type { WebParts } from './target.ts';

export type { Header };

/** How to treat a body above its size limit or the decompression ratio: fail with this error, or truncate the body. */
export type Overflow = 'source_too_large' | 'target_failed' | 'truncate';

/** A redirect that was followed. */
interface Hop {
  status: number;
  url: string;
  /** As in `GuardedResponse`. */
  fragment: string;
}

/** The redirects that led to a response, and when the first request started. */
export interface Trail {
  /** `performance.now()` when the first request started. */
  startedAt: number;
  redirects: readonly Hop[];
}

/** A response whose body has not been read. The connection closes after the body, on `close`, or at the deadline. */
export interface GuardedResponse extends Disposable {
  /** URL of this response, after redirects, without fragment. */
  url: string;
  /** Fragment of the URL with its `#`: that of the last redirect that has one (RFC 9110, 10.2.2); '' if there is none. */
  fragment: string;
  /** The redirects that led to this response. */
  redirects: readonly Hop[];
  status: number;
  statusText: string;
  /** Headers as sent: original case and order; repeated headers are separate entries. Values are UTF-8 if valid UTF-8, else Latin-1. */
  headers: readonly Header[];
  /** All values of the headers with this name, joined by `, `; null when there is none. */
  header(name: string): string | null;
  /** The interim responses (1xx) before this response, in order. */
  interim: readonly Head[];
  /** Headers after a chunked body; complete after the body has been read. */
  trailers: readonly Header[];
  /** Milliseconds from the start of the first request to the end of this response's headers, with DNS and redirects. */
  elapsedMs: number;
  /** With `verify: 'report'`: the verification error of the certificate. null when it is valid or was not checked. */
  certificateFault: string | null;
  /** False when the body is not decoded, because a coding is not supported or the body is a part of encoded bytes. */
  decoded: boolean;
  /**
   * The decoded body; it can be read once. If the deadline passes while no chunk is awaited, it ends as `deadline_exceeded`.
   *
   * @throws ServiceError `target_failed`, `target_timeout`, `deadline_exceeded`, `source_too_large`; the signal's reason
   */
  body: AsyncIterable<Buffer>;
  /** Reads the whole body. @throws as `body` */
  bytes(): Promise<Buffer>;
  /** Deviations from the HTTP standard; complete after the body has been read. */
  readonly warnings: ReadonlySet<ResponseWarning>;
  /** After the body has been read: true when it was truncated at the size limit. */
  readonly truncated: boolean;
  close(): void;
}

interface ResponseParts {
  message: Message;
  url: WebParts;
  clock: Clock;
  trail: Trail;
  certificateFault: string | null;
  maxBytes: number;
  overflow: Overflow;
}

/** A size limit in words. */
const sizeOf = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.floor(bytes / 1024)} KB` : `${Math.floor(bytes / 1024 ** 2) || 1} MB`;

const overLimit = (limit: BodyLimit, maxBytes: number): string =>
  limit === 'size'
    ? `The response is larger than ${sizeOf(maxBytes)}, the size limit of this tool.`
    : `The response grows more than ${RATIO}-fold when it is decompressed, which is accepted only up to ${RATIO_FLOOR / 1_000_000} MB.`;

/** Whether a response is a part (206) of its representation, and not all of it (RFC 9110 section 14.4). */
function isPart(status: number, range: string | null): boolean {
  if (status !== 206) return false;
  const [, first, last, whole] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(range?.trim() ?? '') ?? [];
  return first === undefined || Number(first) !== 0 || Number(last) + 1 !== Number(whole);
}

/** Returns the codings to decode, outermost last, and whether the body is then the decoded representation. */
function readLayers(
  status: number,
  transfer: readonly string[],
  header: GuardedResponse['header'],
): { layers: string[]; decoded: boolean } {
  const named = readCodings(header('content-encoding'));
  // A part of encoded bytes cannot be decoded, but the transfer codings were applied to the part.
  const content = named?.length !== 0 && isPart(status, header('content-range')) ? null : named;
  if (!transfer.every(isDecoded)) return { layers: [], decoded: false };
  const layers = [...(content ?? []), ...transfer];
  if (layers.length > CODINGS)
    throw targetFailed('protocol', {
      detail: `The target encoded the response body more than ${CODINGS} times.`,
    });
  return { layers, decoded: content !== null };
}

/**
 * Wraps an HTTP message as a response. Closing the response also closes the message and stops the clock.
 *
 * @throws ServiceError `target_failed` for too many headers or codings
 */
export function readResponse(parts: ResponseParts): GuardedResponse {
  const { message, url, clock, maxBytes, overflow } = parts;
  clock.pause();
  const elapsedMs = performance.now() - parts.trail.startedAt;
  const close = (): void => {
    clock[Symbol.dispose]();
    message.close();
  };
  const tooLarge = ({ limit }: TooLarge): ServiceError => {
    const detail = overLimit(limit, maxBytes);
    return overflow === 'source_too_large'
      ? new ServiceError('source_too_large', { detail })
      : targetFailed('protocol', { detail });
  };

  const { headers, framing } = message;
  if (headers.length > HEADER_COUNT)
    throw targetFailed('protocol', { detail: `The response has more than ${HEADER_COUNT} headers.` });
  const header = (name: string): string | null => {
    const values = headers.filter(([key]) => key.toLowerCase() === name.toLowerCase());
    return values.length === 0 ? null : values.map(([, value]) => value).join(', ');
  };
  const { layers, decoded } = readLayers(message.status, framing.codings, header);
  let truncated = false;

  async function* wire(): AsyncGenerator<Buffer> {
    try {
      clock.resume();
      for await (const chunk of message.body) {
        clock.pause();
        yield chunk;
        clock.resume();
      }
    } finally {
      clock.pause();
    }
  }
  async function* readBody(): AsyncGenerator<Buffer> {
    try {
      clock.signal.throwIfAborted();
      // Content-Length already exceeds the limit, so the body is not read.
      if (overflow !== 'truncate' && layers.length === 0 && (framing.length ?? 0) > maxBytes)
        throw new TooLarge('size');
      yield* decode(wire(), layers, maxBytes);
    } catch (error) {
      if (clock.signal.aborted || !(error instanceof TooLarge)) throw clock.explain(error);
      if (overflow !== 'truncate') throw tooLarge(error);
      truncated = true;
    } finally {
      close();
    }
  }
  const body = readBody();

  return {
    url: url.href,
    fragment: url.fragment,
    redirects: parts.trail.redirects,
    status: message.status,
    statusText: message.statusText,
    headers,
    header,
    interim: message.interim,
    trailers: message.trailers,
    elapsedMs,
    certificateFault: parts.certificateFault,
    decoded,
    warnings: message.warnings,
    body,
    bytes: () => collect(body, maxBytes),
    get truncated() {
      return truncated;
    },
    close,
    [Symbol.dispose]: close,
  };
}
