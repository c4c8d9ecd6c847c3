import type { Client, Workflow, WorkflowHandle, WorkflowResultType } from '@temporalio/client';

/** Duration of the first poll; each further poll is twice as long. */
const FIRST_POLL_MS = 3000;
/** The Temporal server's own limit for a long poll (`history.longPollExpirationInterval`). */
const LONGEST_POLL_MS = 20_000;

/**
 * Waits for the result of a workflow. Under load the Temporal server sometimes does not answer a long poll when the
 * workflow ends; that poll expires after 20 s, and the next one returns the result at once. Therefore the first polls
 * are short. They are aborted instead of given a gRPC deadline: the server answers a poll with less than one second
 * left immediately and without a result, and the SDK would then poll in a tight loop.
 *
 * @throws as `handle.result`; gRPC status CANCELLED when the signal is aborted
 */
export async function resultOf<T extends Workflow>(
  { connection }: Client,
  handle: WorkflowHandle<T>,
  signal: AbortSignal,
): Promise<WorkflowResultType<T>> {
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(2 * pollMs, LONGEST_POLL_MS)) {
    const poll = AbortSignal.timeout(pollMs);
    try {
      return await connection.withAbortSignal(AbortSignal.any([signal, poll]), () => handle.result());
    } catch (error) {
      if (signal.aborted || !poll.aborted) throw error;
    }
  }
}
