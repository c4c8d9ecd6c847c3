import type { Client } from '@temporalio/client';

const DELETE_MS = 10_000;

/** Deletes the history of a workflow that has ended. @throws the error of Temporal, also if there is no such workflow */
export async function deleteHistory(client: Client, workflowId: string): Promise<void> {
  const { namespace } = client.options;
  await client.connection.withDeadline(Date.now() + DELETE_MS, () =>
    client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId } }),
  );
}
