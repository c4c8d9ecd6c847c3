import type { Client } from '@temporalio/client';
import { moreEvents, TASK_QUEUES, WORKFLOWS, workflowIds } from '../../workflows/contract.ts';
import type { dispatchEvents } from '../../workflows/dispatchEvents.ts';
import { retryUntilAborted } from './retryUntilAborted.ts';

const TIMEOUT_MS = 5000;

/**
 * Signals the workflow that dispatches an account's events, and starts it if it is not running. There is only one
 * such workflow per account, so that while no orchestrator runs, a busy account does not fill the orchestrator's
 * queue, which calls also use.
 *
 * @throws the last error of Temporal after 5 s
 */
export async function startDispatch(client: Client, accountId: string): Promise<void> {
  const send = () =>
    client.workflow.signalWithStart<typeof dispatchEvents>(WORKFLOWS.dispatchEvents, {
      workflowId: workflowIds.dispatchForAccount(accountId),
      taskQueue: TASK_QUEUES.orchestrator,
      args: [accountId],
      priority: { fairnessKey: accountId },
      signal: moreEvents,
    });
  await retryUntilAborted(client, send, AbortSignal.timeout(TIMEOUT_MS));
}

/**
 * Makes requests to Temporal in the background, so that no response waits for it. While a request for an account is being
 * sent, further ones for that account are merged into one more.
 *
 * @param onError receives the errors of requests that could not be sent; the sweeper then finds what they were about
 */
export function inBackground(
  request: (accountId: string) => Promise<void>,
  onError: (error: unknown) => void,
): (accountId: string) => void {
  /** The accounts for which a request is being sent, and whether another one has been made since. */
  const sending = new Map<string, boolean>();
  async function send(accountId: string): Promise<void> {
    do {
      sending.set(accountId, false);
      await request(accountId).catch(onError);
    } while (sending.get(accountId));
    sending.delete(accountId);
  }
  return (accountId) => {
    if (sending.has(accountId)) sending.set(accountId, true);
    else void send(accountId);
  };
}

/** Starts the dispatches of accounts in the background. */
export const createBackgroundDispatch = (
  client: Client,
  onError: (error: unknown) => void,
): ((accountId: string) => void) => inBackground((accountId) => startDispatch(client, accountId), onError);
