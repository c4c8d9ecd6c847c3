import type { ServerResponse } from 'node:http';
import type { CallOutcome } from './callOutcome.ts';

/**
 * Builds the response to a call and records how it ended. If building fails, the call is refunded. Every response emits
 * `close`. The result counts as delivered only if `finish` came before it: Node.js emits `finish` when the operating
 * system has taken the last byte, and not on a connection that was closed or reset before, whichever side did it.
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
  const onClose = () => outcome.ended(response.writableFinished);
  if (response.closed) onClose();
  else response.once('close', onClose);
}
