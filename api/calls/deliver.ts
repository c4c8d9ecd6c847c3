import type { ServerResponse } from 'node:http';
import type { Called } from './toolCalls.ts';

/**
 * Builds the response to a call and reports what becomes of it. When it cannot be built, the call is settled as one whose
 * caller gets an error. It counts as delivered when the response is closed: Node does that when it has handed all of it to
 * the operating system, or when the caller closed the connection.
 *
 * @throws what `build` throws
 */
export async function deliver(
  response: ServerResponse,
  called: Called,
  build: () => void | Promise<void>,
): Promise<void> {
  if (!('output' in called.ending)) return build();
  try {
    await build();
  } catch (fault) {
    await called.undelivered(fault);
    throw fault;
  }
  if (response.closed) called.delivered();
  else response.once('close', called.delivered);
}
