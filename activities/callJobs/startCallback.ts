import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { callbackOptions, WORKFLOWS } from '../../workflows/contract.ts';
import type { deliverCallback } from '../../workflows/deliverCallback.ts';

/** Starts the delivery of a callback; no-op if it runs. @param id of a job, or of a batch's callback */
export async function startCallback(client: Client, id: string, accountId: string): Promise<void> {
  await client.workflow
    .start<typeof deliverCallback>(WORKFLOWS.deliverCallback, callbackOptions(id, accountId))
    .catch((error) => {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    });
}
