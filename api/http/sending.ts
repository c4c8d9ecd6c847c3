import type { ServerResponse } from 'node:http';
import { createHeldBytes } from './heldBytes.ts';

/** Time to read an answer: this, and a second for each 100 KB of it. */
const SEND_MS = 30_000;
const SEND_BYTES_PER_MS = 100;
/** Memory for all answers that are being sent: a few of the largest (50 MB of file are 67 MB of base64). */
const ANSWERS_BYTES = 256 * 1024 * 1024;

const answers = createHeldBytes(ANSWERS_BYTES);

/**
 * Ends the connection of a client that does not read its answer in time, or is the slowest when the answers of all
 * clients together take too much memory. Downloads are streams, hold next to nothing, and have a time-out of their own.
 *
 * @param body the answer, before it is sent
 * @param limits for tests
 */
export function limitSending(
  response: ServerResponse,
  body: unknown,
  { sendMs = SEND_MS, bytesPerMs = SEND_BYTES_PER_MS }: { sendMs?: number; bytesPerMs?: number } = {},
): void {
  // A client that has hung up gets no answer, and its `close` is over.
  if (response.destroyed || (typeof body !== 'string' && !Buffer.isBuffer(body))) return;
  const bytes = Buffer.byteLength(body);
  const end = () => response.destroy();
  const share = answers.open(end);
  const timeout = setTimeout(end, sendMs + bytes / bytesPerMs);
  response.once('close', () => {
    clearTimeout(timeout);
    share[Symbol.dispose]();
  });
  share.add(bytes);
}
