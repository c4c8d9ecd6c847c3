import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { RateLimit } from '../../schemas/envValues.ts';
import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import { usageOf } from '../../store/billing/usage.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { workflowIds } from '../../workflows/contract.ts';
import { TRIAL_ACCOUNT } from '../trial/trialAccount.ts';

/**
 * Number of calls of an account that may end without a charge in a day, in addition to its charged calls of the day
 * (UTC). Each leaves a document for a week.
 */
export const FREE_ENDS = 5000;
/** Number of these calls whose histories stay in Temporal if their Idempotency-Keys stay in use. */
const KEPT_HISTORIES = 500;
const WINDOW_SECONDS = 86_400;
/** Number of calls after which an account above the limit is checked again. */
const CHECK_EVERY = 100;
const TIMEOUT_MS = 10_000;

/** Bounds what calls that end without a charge leave behind. */
export interface Uncharged {
  /**
   * Called when the workflow of a call has ended with an error. Deletes its history from Temporal and counts the call;
   * an account with too many such calls may make no new ones until the window ends. Faults are logged.
   */
  ended(call: Pick<CallDoc, '_id' | 'accountId'>, code: ErrorCode): Promise<void>;
}

interface Dependencies {
  client: Client;
  store: Store;
  /** Null disables the limit. Histories are deleted all the same. */
  limit: RateLimit | null;
  log: Logger;
}

/** Whether an error is due to the service, so that it neither counts nor leaves Temporal before an operator has seen it. */
const isOurFault = (code: ErrorCode): boolean => code === 'internal';

export function createUncharged({ client, store, limit, log }: Dependencies): Uncharged {
  const counter =
    limit === null
      ? null
      : createCounter(store, { name: 'uncharged', max: FREE_ENDS, seconds: WINDOW_SECONDS });

  async function deleteHistory(callId: string): Promise<void> {
    const { namespace } = client.options;
    const workflowExecution = { workflowId: workflowIds.call(callId) };
    await client.connection.withDeadline(Date.now() + TIMEOUT_MS, () =>
      client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }),
    );
  }

  /** Counts a call of an account. @returns the number of calls in the window, and the milliseconds until it ends */
  async function count(accountId: string): Promise<{ calls: number; msLeft: number }> {
    if (counter === null) return { calls: 0, msLeft: 0 };
    const { consumedPoints, msBeforeNext } = await counter.penalty(accountId);
    return { calls: consumedPoints, msLeft: msBeforeNext };
  }

  /** Lets an account make no new calls if more of its calls ended without a charge than it may. */
  async function pauseIfAbove(accountId: string, calls: number, msLeft: number): Promise<void> {
    if (calls <= FREE_ENDS || calls % CHECK_EVERY !== 1) return;
    const today = await usageOf(store, accountId, 1);
    const charged = today.flatMap(({ tools }) => tools).reduce((sum, { succeeded }) => sum + succeeded, 0);
    if (calls <= FREE_ENDS + charged) return;
    const pausedUntil = new Date(Date.now() + msLeft);
    await store.accounts.updateOne({ _id: accountId }, { $set: { pausedUntil } });
    log.warn({ accountId, calls, pausedUntil }, 'too many calls without a charge; the account is paused');
  }

  async function end(callId: string, accountId: string, code: ErrorCode): Promise<void> {
    // Callers cause neither a lack of workers nor the calls of other visitors.
    const isCounted = ERRORS[code].status !== 503 && accountId !== TRIAL_ACCOUNT;
    const { calls, msLeft } = isCounted ? await count(accountId) : { calls: 0, msLeft: 0 };
    await pauseIfAbove(accountId, calls, msLeft);
    const row = await store.calls.findOne({ _id: callId }, { projection: { idempotency: 1 } });
    // The history contains the error that a replay repeats.
    if (row?.idempotency === undefined || calls > KEPT_HISTORIES) await deleteHistory(callId);
  }

  return {
    async ended({ _id: callId, accountId }, code) {
      if (isOurFault(code)) return;
      await end(callId, accountId, code).catch((error) =>
        log.warn({ err: error, callId }, 'could not delete the history of a call that was not charged'),
      );
    },
  };
}
