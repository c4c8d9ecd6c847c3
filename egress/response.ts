import { ServiceError } from '../schemas/errors.ts';
import type { ResponseWarning } from '../schemas/formats/responseWarnings.ts';
import type { Clock } from './clock.ts';
import { collect } from './collect.ts';
import { decode, readCodings, TooLarge } from './decode.ts';
import { targetFailed } from './failure.ts';
import type { Message } from './http1/body.ts';
import type { Header } from './http1/head.ts';
import { HEADER_COUNT } from './limits.ts';
import type { WebParts } from './target.ts';

export type { Header };

/** How to treat a body above its size limit or the decompression ratio: fail with this error, or truncate the body. */
export type Overflow = 'source_too_large' | 'target_failed' | 'truncate';

/** A redirect that was followed. */
interface Hop {
  status: number;
  url: string;
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
  /** The redirects that led to this response. */
  redirects: readonly Hop[];
  status: number;
  statusText: string;
  /** Headers as sent: original case and order; repeated headers are separate entries. Values are UTF-8 if valid UTF-8, else Latin-1. */
  headers: readonly Header[];
  /** All values of the headers with this name, joined by `, `; null when there is none. */
  header(name: string): string | null;
  /** Milliseconds from the start of the first request to the end of this response's headers, with DNS and redirects. */
  elapsedMs: number;
  /** With `verify: 'report'`: the verification error of the certificate. null when it is valid or was not checked. */
  certificateFault: string | null;
  /** False when a content or transfer coding is unknown and the body is therefore not decoded. */
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
  const tooLarge = (): ServiceError =>
    overflow === 'source_too_large'
      ? new ServiceError('source_too_large')
      : targetFailed('protocol', { detail: 'The response is larger than this tool accepts.' });

  const { headers, framing } = message;
  if (headers.length > HEADER_COUNT)
    throw targetFailed('protocol', { detail: `The response has more than ${HEADER_COUNT} headers.` });
  const header = (name: string): string | null => {
    const values = headers.filter(([key]) => key.toLowerCase() === name.toLowerCase());
    return values.length === 0 ? null : values.map(([, value]) => value).join(', ');
  };
  const content = header('content-encoding') ?? '';
  const codings = readCodings([content, ...framing.codings].join());
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
      if (overflow !== 'truncate' && codings?.length === 0 && (framing.length ?? 0) > maxBytes)
        throw new TooLarge();
      yield* decode(wire(), codings ?? [], maxBytes);
    } catch (error) {
      if (clock.signal.aborted || !(error instanceof TooLarge)) throw clock.explain(error);
      if (overflow !== 'truncate') throw tooLarge();
      truncated = true;
    } finally {
      close();
    }
  }
  const body = readBody();

  return {
    url: url.href,
    redirects: parts.trail.redirects,
    status: message.status,
    statusText: message.statusText,
    headers,
    header,
    elapsedMs,
    certificateFault: parts.certificateFault,
    decoded: codings !== null,
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
