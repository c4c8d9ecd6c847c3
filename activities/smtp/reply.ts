import type { Readable } from 'node:stream';
import { targetFailed } from '../../egress/failure.ts';

/** A reply as RFC 5321 section 4.2 has it. */
export interface Reply {
  code: number;
  /** As they came, codes included, without their ends. */
  lines: string[];
}

/** Reads one reply after another from a connection. */
export interface ReplyReader {
  /** @throws ServiceError target_failed when it is no reply or the connection ends; the signal's reason */
  next(signal: AbortSignal): Promise<Reply>;
  /** Drops what is there and what comes within the milliseconds. @returns whether that was anything */
  drain(ms: number, signal: AbortSignal): Promise<boolean>;
}

/** With its end. RFC 5321 section 4.5.3.1.5 has 512; extensions may need more. */
const LINE_BYTES = 2048;
const LINES = 100;
/** Of all replies together: more than one of the longest, and no work to look through. */
const TOTAL_BYTES = 256 * 1024;
const LINE_FEED = 0x0a;
const LINE = /^([1-5]\d\d)(?:([ -]).*)?$/s;

const broken = (detail: string) => targetFailed('protocol', { detail });

/** UTF-8 where it is that (RFC 6531), else Latin-1, which has a character for each byte. */
function decode(bytes: Buffer): string {
  const utf8 = bytes.toString('utf8');
  const text = Buffer.from(utf8).equals(bytes) ? utf8 : bytes.toString('latin1');
  return text.replace(/\r$/, '').replace(/[^\P{Cc}\t]/gu, '\ufffd');
}

/** The words of a line without its code. */
export const textOf = (line: string): string => line.slice(4);

/** Waits until there is something to read or never will be. @throws the stream's error; the signal's reason */
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

/** Makes a reader of the stream, from which nobody else may read while one of its promises is pending. */
export function createReplyReader(stream: Readable): ReplyReader {
  let buffer = Buffer.alloc(0);
  let total = 0;

  /** Takes what has come. @returns false when nothing has */
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
        throw broken('A line of the reply is longer than 2 KB.');
      if (end !== -1) {
        total += end;
        if (total > TOTAL_BYTES) throw broken('The replies are longer than 256 KB.');
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
        if (code === undefined) throw broken('The target does not answer in SMTP.');
        if (!(lines[0] ?? code).startsWith(code)) throw broken('The lines of a reply differ in their codes.');
        lines.push(text);
        if (mark !== '-') return { code: Number(code), lines };
        if (lines.length === LINES) throw broken(`The reply has more than ${LINES} lines.`);
      }
    },

    async drain(ms, signal) {
      let dropped = 0;
      const time = AbortSignal.timeout(ms);
      const end = AbortSignal.any([signal, time]);
      for (;;) {
        while (fill());
        dropped += buffer.length;
        buffer = Buffer.alloc(0);
        const over = stream.errored || stream.readableEnded || stream.destroyed || time.aborted;
        signal.throwIfAborted();
        if (over) return dropped > 0;
        // Whatever else goes wrong shows at the next step.
        await untilReadable(stream, end).catch(() => undefined);
      }
    },
  };
}
