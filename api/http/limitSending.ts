import type { ServerResponse } from 'node:http';
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

const responses = createHeldBytes(RESPONSES_BYTES);

/**
 * Closes the connection of a client that does not read its response in time. If all responses together exceed the
 * memory limit, the address or account that holds most loses connections. Documents that all responses share take no memory
 * of their own and are not counted. Streamed downloads are exempt, because they need little memory and have their own timeout.
 *
 * @param body the response body, before it is sent
 * @param holder the client
 * @param limits overrides of the time limit, for tests
 */
export function limitSending(
  response: ServerResponse,
  body: unknown,
  holder: Holder,
  { sendMs = SEND_MS, bytesPerMs = SEND_BYTES_PER_MS }: { sendMs?: number; bytesPerMs?: number } = {},
): void {
  // If the client has disconnected, `close` was emitted before and would not end the timeout below.
  if (response.destroyed || (typeof body !== 'string' && !Buffer.isBuffer(body))) return;
  const bytes = Buffer.byteLength(body);
  const end = () => response.destroy();
  const share = responses.open(holder, end);
  const timeout = setTimeout(end, sendMs + bytes / bytesPerMs);
  response.once('close', () => {
    clearTimeout(timeout);
    share[Symbol.dispose]();
  });
  if (!isShared(body)) share.add(bytes);
}
