import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';

/** Has the new events of an account brought on their way. Nobody waits for it: what fails is the sweeper's to find. */
export type HandOver = (accountId: string) => void;

const DEADLINE_MS = 5000;

/** Starts the workflow that hands over an account's new events. */
export async function startHandOver(client: Client, accountId: string): Promise<void> {
  await client.connection.withDeadline(Date.now() + DEADLINE_MS, () =>
    client.workflow.start('handOver', {
      workflowId: `hand-over-${randomUUID()}`,
      taskQueue: 'orchestrator',
      args: [accountId],
    }),
  );
}

/** For a process that goes on; `onError` hears of what could not be started. */
export const createHandOver =
  (client: Client, onError: (error: unknown) => void): HandOver =>
  (accountId) => {
    startHandOver(client, accountId).catch(onError);
  };
