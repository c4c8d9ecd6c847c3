import type { Client } from '@temporalio/client';
import { persist } from '../../workers/platform/retryUntilAborted.ts';

/** Has the new events of an account brought on their way. Nobody waits for it: what fails is the sweeper's to find. */
export type HandOver = (accountId: string) => void;

const DEADLINE_MS = 5000;

/**
 * Tells the workflow that hands over an account's events of new ones. It is started where none runs, and there is one an
 * account: so what a busy account does while nobody runs workflows does not fill their queue, in which calls wait too.
 */
export async function startHandOver(client: Client, accountId: string): Promise<void> {
  const tell = () =>
    client.workflow.signalWithStart('handOver', {
      workflowId: `hand-over-${accountId}`,
      taskQueue: 'orchestrator',
      args: [accountId],
      priority: { fairnessKey: accountId },
      signal: 'moreEvents',
      signalArgs: [],
    });
  await persist(client, tell, AbortSignal.timeout(DEADLINE_MS));
}

/**
 * For a process that goes on; `onError` hears of what could not be told. Of the events that come while the workflow is
 * being told of others, however many, it is told once.
 */
export function createHandOver(client: Client, onError: (error: unknown) => void): HandOver {
  /** Accounts whose workflow is being told, and whether there was more since. */
  const telling = new Map<string, boolean>();
  async function tell(accountId: string): Promise<void> {
    do {
      telling.set(accountId, false);
      await startHandOver(client, accountId).catch(onError);
    } while (telling.get(accountId));
    telling.delete(accountId);
  }
  return (accountId) => {
    if (telling.has(accountId)) telling.set(accountId, true);
    else void tell(accountId);
  };
}
