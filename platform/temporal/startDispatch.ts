import { setTimeout as sleep } from 'node:timers/promises';
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
 * @param pauseMs milliseconds after a request in which further ones are merged too
 */
export function inBackground(
  request: (accountId: string) => Promise<void>,
  onError: (error: unknown) => void,
  pauseMs = 0,
): (accountId: string) => void {
  /** The accounts for which a request is being sent, and whether another one has been made since. */
  const sending = new Map<string, boolean>();
  async function send(accountId: string): Promise<void> {
    do {
      sending.set(accountId, false);
      await request(accountId).catch(onError);
      if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
    } while (sending.get(accountId));
    sending.delete(accountId);
  }
  return (accountId) => {
    if (sending.has(accountId)) sending.set(accountId, true);
    else void send(accountId);
  };
}

/** Milliseconds between dispatches of an account by this process. Events that are stored in between share the next one. */
const FURTHER_MS = 200;
/** Milliseconds after its last dispatch from which an account's next event is a first one again. */
const QUIET_MS = 5000;

/**
 * Dispatches the events of accounts in the background: the first event of an account by a workflow, those that soon follow by `further`.
 *
 * @param onError receives the errors of dispatches; the sweeper then finds their events
 * @param further creates the deliveries of an account's new events in this process; can be repeated. A workflow costs many times as
 *   much, and therefore does only what this process could not do. Default: always a workflow
 */
export function createBackgroundDispatch(
  client: Client,
  onError: (error: unknown) => void,
  further: (accountId: string) => Promise<void> = (accountId) => startDispatch(client, accountId),
): (accountId: string) => void {
  /** The accounts that were dispatched in the last seconds, and whether they have had events since. */
  const recent = new Map<string, boolean>();

  async function dispatch(accountId: string): Promise<void> {
    await startDispatch(client, accountId).catch(onError);
    for (let lastAt = Date.now(); Date.now() - lastAt < QUIET_MS; ) {
      await sleep(FURTHER_MS, undefined, { ref: false });
      if (!recent.get(accountId)) continue;
      recent.set(accountId, false);
      await further(accountId).catch(() => startDispatch(client, accountId).catch(onError));
      lastAt = Date.now();
    }
    recent.delete(accountId);
  }
  return (accountId) => {
    const isFurther = recent.has(accountId);
    recent.set(accountId, isFurther);
    if (!isFurther) void dispatch(accountId);
  };
}
