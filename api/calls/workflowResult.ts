import type { Client, Workflow, WorkflowHandle, WorkflowResultType } from '@temporalio/client';

/** After so long it is asked again for the first time; what takes longer is asked for after ever longer pauses. */
const FIRST_LOOK_MS = 3000;
/** As long as the server itself lets a poll wait (`history.longPollExpirationInterval`). */
const LONGEST_LOOK_MS = 20_000;

/**
 * Waits for the result of a workflow. On a full machine the server now and then does not tell a poll that the workflow has
 * ended: the poll then runs out after its 20 s, and the next one is told at once. So the first ones are short. They are
 * called off, and not given a deadline: a poll with less than a second to go is answered at once, with nothing, and the
 * SDK would ask again and again.
 *
 * @throws as `handle.result`; CANCELLED when the signal is aborted
 */
export async function resultOf<T extends Workflow>(
  { connection }: Client,
  handle: WorkflowHandle<T>,
  signal: AbortSignal,
): Promise<WorkflowResultType<T>> {
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(2 * lookMs, LONGEST_LOOK_MS)) {
    const look = AbortSignal.timeout(lookMs);
    try {
      return await connection.withAbortSignal(AbortSignal.any([signal, look]), () => handle.result());
    } catch (error) {
      if (signal.aborted || !look.aborted) throw error;
    }
  }
}
