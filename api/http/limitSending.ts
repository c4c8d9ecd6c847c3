import type { ServerResponse } from 'node:http';
import { createBufferBudget } from './bufferBudget.ts';

/** Time to read a response: this, plus one second for each 100 KB. */
const SEND_MS = 30_000;
const SEND_BYTES_PER_MS = 100;
/** Memory for all responses that are being sent: a few of the largest (a file of 50 MB is 67 MB in base64). */
const RESPONSES_BYTES = 256 * 1024 * 1024;

const responses = createBufferBudget(RESPONSES_BYTES);

/**
 * Closes the connection of a client that does not read its response in time, or that is the slowest when all responses
 * together exceed the memory limit. Streamed downloads need little memory and have a timeout of their own.
 *
 * @param body the response body, before it is sent
 * @param limits for tests
 */
export function limitSending(
  response: ServerResponse,
  body: unknown,
  { sendMs = SEND_MS, bytesPerMs = SEND_BYTES_PER_MS }: { sendMs?: number; bytesPerMs?: number } = {},
): void {
  // `close` has been emitted already if the client disconnected.
  if (response.destroyed || (typeof body !== 'string' && !Buffer.isBuffer(body))) return;
  const bytes = Buffer.byteLength(body);
  const end = () => response.destroy();
  const share = responses.open(end);
  const timeout = setTimeout(end, sendMs + bytes / bytesPerMs);
  response.once('close', () => {
    clearTimeout(timeout);
    share[Symbol.dispose]();
  });
  share.add(bytes);
}
