import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { isShared } from './document.ts';
import { createHeldBytes, type Holder } from './heldBytes.ts';

/** A client must read a response within this many milliseconds plus one second for each 100 KB. */
const SEND_MS = 30_000;
const SEND_BYTES_PER_MS = 100;
/**
 * Maximum memory in bytes for all responses that are being sent. It holds a few of the largest: a file of 50 MB is 67
 * MB in base64.
 */
const RESPONSES_BYTES = 256 * 1024 * 1024;

/** Streamed bodies are sent in pieces of this many bytes, whose number shows how much the client has read. */
const PIECE_BYTES = 65_536;

const responses = createHeldBytes(RESPONSES_BYTES);
/** The bytes of responses that are being sent. */
export const heldByResponses = responses.all;

/** Whether Koa would send a body as JSON. */
const isPlainObject = (body: unknown): body is object =>
  typeof body === 'object' && body !== null && Object.getPrototypeOf(body) === Object.prototype;

interface SendingLimits {
  sendMs?: number;
  bytesPerMs?: number;
}

/**
 * Closes the connection of a client that does not read its response in time. Of a streamed response, only the time counts in
 * which a piece waits for the client. If all responses together exceed the memory limit, the address or account that holds
 * most loses connections. Documents that all responses share take no memory of their own and are not counted.
 *
 * @param body the response body, before it is sent
 * @param holder the client
 * @param limits overrides of the time limit, for tests
 * @returns the body to send instead
 */
export function limitSending(
  response: ServerResponse,
  body: unknown,
  holder: Holder,
  { sendMs = SEND_MS, bytesPerMs = SEND_BYTES_PER_MS }: SendingLimits = {},
): unknown {
  // If the client has disconnected, `close` was emitted before and would not end the timeout below.
  if (response.destroyed) return body;
  if (isPlainObject(body))
    return limitSending(response, JSON.stringify(body), holder, { sendMs, bytesPerMs });
  const isStream = body instanceof Readable || body instanceof ReadableStream;
  if (!isStream && typeof body !== 'string' && !Buffer.isBuffer(body)) return body;
  const end = () => response.destroy();
  const share = responses.open(holder, end);
  let timeout: NodeJS.Timeout | undefined;
  response.once('close', () => {
    clearTimeout(timeout);
    share[Symbol.dispose]();
  });
  if (!isStream) {
    const bytes = Buffer.byteLength(body);
    timeout = setTimeout(end, sendMs + bytes / bytesPerMs);
    if (!isShared(body)) share.add(bytes);
    return body;
  }
  /** Milliseconds for which pieces may still wait for the client. */
  let leftMs = sendMs;
  async function* pieces(source: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      const bytes =
        chunk instanceof Uint8Array
          ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
          : Buffer.from(String(chunk));
      share.add(bytes.length);
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
        const piece = bytes.subarray(at, at + PIECE_BYTES);
        const began = performance.now();
        timeout = setTimeout(end, leftMs);
        // Resumes when the pieces before have been sent.
        yield piece;
        clearTimeout(timeout);
        leftMs += piece.length / bytesPerMs - (performance.now() - began);
      }
      share.add(-bytes.length);
    }
    timeout = setTimeout(end, sendMs);
  }
  return Readable.from(pieces(body));
}
