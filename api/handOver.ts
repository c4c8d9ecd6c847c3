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

/**
 * For a process that goes on; `onError` hears of what could not be started. A workflow takes all events that are there: of
 * those that come while one is being started, however many, one more takes care. So a busy account keeps no call waiting.
 */
export function createHandOver(client: Client, onError: (error: unknown) => void): HandOver {
  /** Accounts for which one is being started, and whether another is to follow. */
  const starting = new Map<string, boolean>();
  async function start(accountId: string): Promise<void> {
    do {
      starting.set(accountId, false);
      await startHandOver(client, accountId).catch(onError);
    } while (starting.get(accountId));
    starting.delete(accountId);
  }
  return (accountId) => {
    if (starting.has(accountId)) starting.set(accountId, true);
    else void start(accountId);
  };
}
