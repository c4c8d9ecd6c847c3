import type { Logger } from 'pino';
import { untilAborted } from '../../egress/clock.ts';
import { type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { Ledger, Settled } from '../../store/ledger.ts';
import type { CallDoc } from '../../store/mongo.ts';
import type { PendingAnswers } from '../../store/pendingAnswers.ts';
import type { Results } from '../../store/results.ts';
import type { Undelivered } from '../../store/undelivered.ts';
import { retryStoreUntilAborted } from '../../workers/platform/retryUntilAborted.ts';
import type { CallResult, ToolResult } from '../../workflows/types.ts';
import type { DispatchEvents } from '../webhooks/startDispatch.ts';
import type { Outcome } from './callRunner.ts';
import type { CallWorkflow } from './callWorkflow.ts';

/** A caller who waits for an answer. */
export interface Waiting {
  /** Aborted when the caller hangs up. */
  hangup: AbortSignal;
  /** Epoch milliseconds at which the answer is due. */
  until: number;
}

/** The answer to the caller. */
export type Ended = Pick<Outcome, 'ending' | 'available'>;

/**
 * Turns the end of a call into its answer: a caller who is charged has the result, and a caller without the result is
 * not charged. Nothing that is owed depends on this process: before a caller gets an error, the call is settled or is
 * recorded as undelivered; when MongoDB is away for longer than the caller waits, the `pendingAnswer` that was written
 * at the start of the call suffices, because the sweeper settles it once this process is gone (store/undelivered.ts).
 */
export interface Settling {
  /**
   * The output of a charged call. When it cannot be had and the row has a `pendingAnswer`, an error, and the price is
   * given back.
   *
   * @throws why it cannot be had, when the caller can ask again with the same key
   */
  payOut(row: CallDoc, ended: () => Promise<CallResult>, waiting: Waiting): Promise<Ended>;
  /** Ends the call now, with this error unless it was charged already; nothing is charged after this answer. */
  giveUp(row: CallDoc, error: ServiceError, waiting: Waiting): Promise<Ended>;
  /**
   * Gives back the price of a charged call whose caller gets an error. Resolves when that is done or, at the latest, when
   * the answer is due; the rest is done in the background or by the sweeper.
   */
  giveBack(row: CallDoc, fault: unknown, code: ErrorCode, waiting: Waiting): Promise<void>;
}

interface Dependencies {
  workflow: Pick<CallWorkflow, 'result'>;
  ledger: Pick<Ledger, 'settle'>;
  results: Pick<Results, 'read'>;
  answers: Pick<PendingAnswers, 'assertPending' | 'undelivered'>;
  owed: Pick<Undelivered, 'settle'>;
  dispatchEvents: DispatchEvents;
  log: Logger;
}

/** Whether a later call with the same Idempotency-Key gets the result: those without a fingerprint are never replayed. */
export const isRepeatable = ({ idempotency }: CallDoc): boolean => idempotency?.fingerprint != null;

const timeLeft = ({ until }: Waiting): AbortSignal => AbortSignal.timeout(Math.max(0, until - Date.now()));

export function createSettling(deps: Dependencies): Settling {
  const { workflow, ledger, results, answers, owed, dispatchEvents, log } = deps;

  /** Not cut short by the caller's deadline. */
  async function settleUndelivered(row: CallDoc, code: ErrorCode): Promise<void> {
    await answers.undelivered(row, code);
    if (!(await owed.settle(row, code))) return;
    dispatchEvents(row.accountId);
    log.error({ callId: row._id, requestId: row.requestId }, 'charged call given back');
  }

  /** Starts it, and waits for it while the caller waits. */
  async function settleWhileWaiting(row: CallDoc, code: ErrorCode, waiting: Waiting): Promise<void> {
    const settling = settleUndelivered(row, code);
    settling.catch((error) => log.warn({ err: error, callId: row._id }, 'the call waits for the sweeper'));
    await untilAborted(settling, timeLeft(waiting)).catch(() => undefined);
  }

  async function giveBack(row: CallDoc, fault: unknown, code: ErrorCode, waiting: Waiting): Promise<void> {
    log.error({ err: fault, callId: row._id, requestId: row.requestId }, 'charged call without a result');
    await settleWhileWaiting({ ...row, state: 'charged' }, code, waiting);
  }

  async function read(row: CallDoc, result: ToolResult, waiting: Waiting): Promise<string | Buffer> {
    if ('output' in result) return JSON.stringify(result.output);
    const signal = timeLeft(waiting);
    const { stored } = result;
    return untilAborted(
      retryStoreUntilAborted(() => results.read(row._id, stored), signal),
      signal,
    );
  }

  async function assertPending(row: CallDoc, waiting: Waiting): Promise<void> {
    if (row.pendingAnswer === undefined) return;
    const signal = timeLeft(waiting);
    await untilAborted(
      retryStoreUntilAborted(() => answers.assertPending(row._id), signal),
      signal,
    );
  }

  async function payOut(
    row: CallDoc,
    ended: () => Promise<CallResult>,
    waiting: Waiting,
    error?: ServiceError,
  ): Promise<Ended> {
    try {
      const { result, available } = await ended();
      const output = await read(row, result, waiting);
      await assertPending(row, waiting);
      return { available, ending: { output } };
    } catch (fault) {
      if (row.pendingAnswer === undefined) throw fault;
      const told = error ?? new ServiceError('internal', { cause: fault });
      await giveBack(row, fault, told.code, waiting);
      return { available: null, ending: { error: told } };
    }
  }

  return {
    payOut: (row, ended, waiting) => payOut(row, ended, waiting),
    giveBack,

    async giveUp(row, error, waiting) {
      log.error({ err: error, callId: row._id, requestId: row.requestId }, 'call given up');
      const { _id: callId, accountId } = row;
      const { code } = error;
      const refund = { callId, accountId, wanted: 'refunded', code, release: !row.actsOnWorld } as const;
      const signal = timeLeft(waiting);
      let settled: Settled;
      try {
        settled = await untilAborted(
          retryStoreUntilAborted(() => ledger.settle(refund), signal),
          signal,
        );
      } catch {
        // With a key the call goes on by itself, and its caller can ask how it ended.
        if (row.pendingAnswer !== undefined) await settleWhileWaiting(row, code, waiting);
        return { available: null, ending: { error } };
      }
      if (settled.state !== 'charged') return { available: settled.available, ending: { error } };
      // It was charged just before, so the caller gets the result.
      return payOut(row, () => workflow.result(callId, timeLeft(waiting)), waiting, error);
    },
  };
}
