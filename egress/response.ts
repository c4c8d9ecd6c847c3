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

/** How to treat a body that exceeds its size limit or the decompression ratio. */
export type Overflow = 'source_too_large' | 'target_failed' | 'truncate';

/** A redirect that was followed. */
export interface Hop {
  status: number;
  url: string;
}

/** The redirects before a response, and when the request started. */
export interface Trail {
  /** `performance.now()` at the start. */
  startedAt: number;
  redirects: readonly Hop[];
}

/** A response whose body has not been read. The connection closes after the body, on `close`, or at the deadline. */
export interface GuardedResponse extends Disposable {
  /** Epoch milliseconds; the time in which nothing waited for the target does not count. */
  readonly deadline: number;
  /** URL of this response, after redirects, without fragment. */
  url: string;
  /** The redirects that led to this response. */
  redirects: readonly Hop[];
  status: number;
  statusText: string;
  /** As sent: original case and order, repeated fields separate; decoded as UTF-8 if valid, else as Latin-1. */
  headers: readonly Header[];
  /** All values of a field, joined by `, `; null when the field is absent. */
  header(name: string): string | null;
  /** Milliseconds from the call to the end of the headers, DNS and redirects included. */
  elapsedMs: number;
  /** With `verify: 'report'`: the verification error of the certificate; null when it is valid. */
  certificateFault: string | null;
  /** False when a content or transfer coding is unknown and the body is therefore not decoded. */
  decoded: boolean;
  /**
   * The decoded body; it can be read once. The time that the reader takes between two chunks is not the target's.
   *
   * @throws ServiceError `target_failed`, `target_timeout`, `deadline_exceeded`, `source_too_large`; the signal's reason
   */
  body: AsyncIterable<Buffer>;
  /** Reads the whole body. @throws as `body` */
  bytes(): Promise<Buffer>;
  /** Deviations from the standard; complete after the body has been read. */
  readonly warnings: ReadonlySet<ResponseWarning>;
  /** After reading: true when the body was cut at the limit. */
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
 * Wraps a message as a response, and becomes the owner of the message and the clock.
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
      : targetFailed('protocol', { detail: 'The response is larger than this tool takes.' });

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
      // The announced length already exceeds the limit, so nothing is read.
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
    get deadline() {
      return clock.deadline;
    },
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
