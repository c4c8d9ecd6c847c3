import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { targetFailed } from '../../egress/failure.ts';

/** An SMTP reply (RFC 5321 section 4.2). */
export interface Reply {
  code: number;
  /** The lines of the reply with their reply codes, without line breaks. */
  lines: string[];
}

/** Reads the replies of a connection in order. */
export interface ReplyReader {
  /** Reads a reply. @throws ServiceError target_failed for an invalid reply or a closed connection; the signal's reason */
  next(signal: AbortSignal): Promise<Reply>;
  /** Whether data that `next` has not read has arrived or arrives within `ms` milliseconds. */
  hasMore(ms: number, signal: AbortSignal): Promise<boolean>;
  /** Discards buffered data and data that arrives within `ms` milliseconds. @returns whether any data was discarded */
  drain(ms: number, signal: AbortSignal): Promise<boolean>;
}

/** Maximum length of a reply line with its line break. RFC 5321 section 4.5.3.1.5 sets 512, RFC 4954 section 4 this for challenges. */
const LINE_BYTES = 12_288;
const MAX_LINES = 100;
/** Maximum size of all replies together: enough for the longest single reply, and little enough to search for secrets. */
const TOTAL_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;
const LINE = /^([1-5]\d\d)(?:([ -]).*)?$/s;

const protocolError = (detail: string) => targetFailed('protocol', { detail });

/** Decodes a line as UTF-8 if valid (RFC 6531), else as Latin-1, which maps every byte. */
function decode(bytes: Buffer): string {
  const utf8 = bytes.toString('utf8');
  const text = Buffer.from(utf8).equals(bytes) ? utf8 : bytes.toString('latin1');
  return text.replace(/\r$/, '').replace(/[^\P{Cc}\t]/gu, '\ufffd');
}

/** Returns the text of a line without its code. */
export const textOf = (line: string): string => line.slice(4);

/** Waits until the stream is readable, ended or closed. @throws the stream's error; the signal's reason */
function untilReadable(stream: Readable, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => reject(signal.reason);
  const events = ['readable', 'end', 'close'] as const;
  for (const event of events) stream.on(event, resolve);
  stream.on('error', reject);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return promise.finally(() => {
    for (const event of events) stream.off(event, resolve);
    stream.off('error', reject);
    signal.removeEventListener('abort', stop);
  });
}

/**
 * Creates a reader. When a wait for data ends, it lets the event loop turn once more, because a timer that fires late precedes
 * the reading of data that has arrived in time.
 *
 * Nothing else may read from the stream while one of its promises is pending.
 */
export function createReplyReader(stream: Readable): ReplyReader {
  let buffer = Buffer.alloc(0);
  let total = 0;

  /** Moves data that has arrived into the buffer. @returns false when no data has arrived */
  function fill(): boolean {
    const chunk: unknown = stream.read();
    if (!Buffer.isBuffer(chunk)) return false;
    buffer = Buffer.concat([buffer, chunk]);
    return true;
  }

  async function line(signal: AbortSignal): Promise<string> {
    for (;;) {
      const end = buffer.indexOf(LINE_FEED);
      if (end >= LINE_BYTES || (end === -1 && buffer.length >= LINE_BYTES))
        throw protocolError('A line of the reply is longer than 12 KB.');
      if (end !== -1) {
        total += end;
        if (total > TOTAL_BYTES) throw protocolError('The replies are longer than 256 KB.');
        const bytes = buffer.subarray(0, end);
        buffer = buffer.subarray(end + 1);
        return decode(bytes);
      }
      if (fill()) continue;
      if (stream.errored) throw stream.errored;
      if (stream.readableEnded || stream.destroyed) throw targetFailed('reset');
      await untilReadable(stream, signal);
    }
  }

  return {
    async next(signal) {
      const lines: string[] = [];
      for (;;) {
        const text = await line(signal);
        const [, code, mark] = LINE.exec(text) ?? [];
        if (code === undefined) throw protocolError('The target does not speak SMTP.');
        if (!(lines[0] ?? code).startsWith(code))
          throw protocolError('The lines of a reply have different codes.');
        lines.push(text);
        if (mark !== '-') return { code: Number(code), lines };
        if (lines.length === MAX_LINES) throw protocolError(`The reply has more than ${MAX_LINES} lines.`);
      }
    },

    async hasMore(ms, signal) {
      if (buffer.length > 0 || fill()) return true;
      if (ms > 0 && !stream.readableEnded && !stream.destroyed)
        // Errors of the stream are reported by the next read.
        await untilReadable(stream, AbortSignal.any([signal, AbortSignal.timeout(ms)])).catch(
          () => undefined,
        );
      signal.throwIfAborted();
      await nextTurn();
      return fill();
    },

    async drain(ms, signal) {
      let dropped = 0;
      const time = AbortSignal.timeout(ms);
      const end = AbortSignal.any([signal, time]);
      for (;;) {
        if (time.aborted) await nextTurn();
        while (fill());
        dropped += buffer.length;
        buffer = Buffer.alloc(0);
        const over = stream.errored || stream.readableEnded || stream.destroyed || time.aborted;
        signal.throwIfAborted();
        if (over) return dropped > 0;
        // Errors of the stream are reported by the next read; the loop handles the abort.
        await untilReadable(stream, end).catch(() => undefined);
      }
    },
  };
}
