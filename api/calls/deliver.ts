import type { ServerResponse } from 'node:http';
import type { CallOutcome } from './callOutcome.ts';

/**
 * Builds the response to a call and records its delivery. If building fails, the call is refunded. The result counts
 * as delivered when the response emits `close`: either all of it was handed to the operating system, or the caller
 * disconnected.
 *
 * @throws what `build` throws
 */
export async function deliver(
  response: ServerResponse,
  outcome: CallOutcome,
  build: () => void | Promise<void>,
): Promise<void> {
  if (!('output' in outcome.ending)) return build();
  try {
    await build();
  } catch (fault) {
    await outcome.undelivered(fault);
    throw fault;
  }
  if (response.closed) outcome.delivered();
  else response.once('close', outcome.delivered);
}
