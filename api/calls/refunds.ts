import type { Logger } from 'pino';
import { untilAborted } from '../../platform/untilAborted.ts';
import { type ErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { CallDoc, PendingAnswer } from '../../store/calls/callDocs.ts';
import type { Calls } from '../../store/calls/calls.ts';
import type { PendingAnswers } from '../../store/calls/pendingAnswers.ts';
import { ResultGone, type Results } from '../../store/calls/results.ts';
import type { Ledger, Settled } from '../../store/ledger/ledger.ts';
import type { Paybacks } from '../../store/ledger/paybacks.ts';
import { retryStoreUntilAborted } from '../../store/mongo/retryStore.ts';
import type { CallResult, ToolResult } from '../../workflows/types.ts';
import type { CallWorkflow } from './callWorkflow.ts';
import type { CallOutcome } from './toolCall.ts';

/**
 * Ensures that a caller is charged if and only if the response contains the result. Before an error is sent, the call
 * is settled or recorded as undelivered. If MongoDB is unavailable for longer than the caller waits, or this process
 * crashes, the sweeper refunds the call: the `pendingAnswer` that was written at the start of the call says so
 * (store/ledger/paybacks.ts). `deadline` is when the response is due, as `performance.now()`.
 */
interface Refunds {
  /**
   * Reads the output of a charged call. If reading fails and the call has a `pendingAnswer`, refunds the call and
   * returns an error.
   *
   * @throws the error of reading, if the caller can retry with the same Idempotency-Key
   */
  resultOrRefund(row: CallDoc, result: CallResult, deadline: number): Promise<CallOutcome>;
  /**
   * Refunds a call whose workflow ended with this error, unless the refund is already recorded. The error `internal` may come
   * from a second run of a workflow whose first run, of which Temporal has lost the history, charged the call.
   */
  refundFailed(row: CallDoc, code: 'cancelled' | 'internal', deadline: number): Promise<void>;
  /** Ends a call: refunds it with this error code, or returns its result if it has already been charged. */
  refundUnlessCharged(row: CallDoc, error: ServiceError, deadline: number): Promise<CallOutcome>;
  /**
   * Refunds a charged call whose result cannot be delivered. Resolves when the refund is recorded or the response is
   * due. In the latter case the refund continues in the background, or the sweeper makes it.
   */
  refundUndelivered(row: CallDoc, fault: unknown, deadline: number): Promise<void>;
  /**
   * Refunds a charged call, in the background, whose connection ended before the result was sent. A call with side effects
   * outside the service (`actsOnWorld`) stays charged.
   */
  refundLost(row: CallDoc, pending: PendingAnswer): void;
}

export interface RefundDependencies {
  workflow: Pick<CallWorkflow, 'result'>;
  ledger: Pick<Ledger, 'settle'>;
  results: Pick<Results, 'read'>;
  calls: Pick<Calls, 'find'>;
  answers: Pick<PendingAnswers, 'assertPending' | 'undelivered' | 'lost'>;
  paybacks: Pick<Paybacks, 'settle'>;
  log: Logger;
}

/**
 * Whether a later request with the same Idempotency-Key receives the result. This requires a fingerprint of the
 * input.
 */
export const isReplayable = ({ idempotency }: CallDoc): boolean => idempotency?.fingerprint != null;

/** The error of a replay whose result was too large to be kept for long; see `retention.ts`. */
export const noLongerKept = (cause: ResultGone): ServiceError =>
  new ServiceError('idempotency_key_used', {
    detail: 'The call with this idempotency key was charged, but its result is no longer kept.',
    cause,
  });

const timeLeft = (deadline: number): AbortSignal =>
  AbortSignal.timeout(Math.max(0, Math.round(deadline - performance.now())));

export function createRefunds(deps: RefundDependencies): Refunds {
  const { workflow, ledger, results, calls, answers, paybacks, log } = deps;

  /** Refunds the call, even if the caller's deadline passes in the meantime. */
  async function settleUndelivered(row: CallDoc, code: ErrorCode): Promise<void> {
    // Another response to the same form may carry the result.
    if (!(await answers.undelivered(row, code))) return;
    const isRefunded = await paybacks.settle(row, code);
    // A cancellation can arrive while the only task of a call in the fast lane ends, which then charged the call.
    if (!isRefunded || code === 'cancelled') return;
    log.error(
      { callId: row._id, requestId: row.requestId },
      'refunded a charged call whose result was not delivered',
    );
  }

  /** Starts the refund, and waits until it is recorded or the response is due. */
  async function settleWhileWaiting(row: CallDoc, code: ErrorCode, deadline: number): Promise<void> {
    const settling = settleUndelivered(row, code);
    settling.catch((error) =>
      log.warn({ err: error, callId: row._id }, 'refund failed; the sweeper will retry it'),
    );
    // A failure is logged above; at the end of the wait, the refund goes on in the background.
    await untilAborted(settling, timeLeft(deadline)).catch(() => undefined);
  }

  async function payBack(row: CallDoc, fault: unknown, code: ErrorCode, deadline: number): Promise<void> {
    log.error(
      { err: fault, callId: row._id, requestId: row.requestId },
      'the result of a charged call cannot be delivered; refunding the call',
    );
    await settleWhileWaiting({ ...row, state: 'charged' }, code, deadline);
  }

  async function settleLost(row: CallDoc, pending: PendingAnswer): Promise<void> {
    // Another response may carry the result, or have delivered it.
    if (!(await answers.lost(row._id, pending))) return;
    // The sweeper only removes the mark of such a call.
    if (row.actsOnWorld) return;
    await paybacks.settle({ ...row, state: 'charged' }, 'cancelled');
  }

  async function read(row: CallDoc, result: ToolResult, deadline: number): Promise<string | Buffer> {
    if ('output' in result) return JSON.stringify(result.output);
    const signal = timeLeft(deadline);
    const { stored } = result;
    return untilAborted(
      retryStoreUntilAborted(() => results.read(row._id, stored), signal),
      signal,
    );
  }

  async function assertPending(row: CallDoc, deadline: number): Promise<void> {
    const { _id: callId, pendingAnswer } = row;
    if (pendingAnswer === undefined) return;
    const signal = timeLeft(deadline);
    await untilAborted(
      retryStoreUntilAborted(() => answers.assertPending(callId, pendingAnswer), signal),
      signal,
    );
  }

  async function readOrPayBack(
    row: CallDoc,
    callResult: () => Promise<CallResult>,
    deadline: number,
    error?: ServiceError,
  ): Promise<CallOutcome> {
    try {
      const { result, available } = await callResult();
      const output = await read(row, result, deadline);
      await assertPending(row, deadline);
      const stored = 'stored' in result ? result.stored : undefined;
      return { available, ending: { output }, stored, linked: result.linked };
    } catch (fault) {
      if (row.pendingAnswer === undefined) throw fault instanceof ResultGone ? noLongerKept(fault) : fault;
      const reported = error ?? new ServiceError('internal', { cause: fault });
      await payBack(row, fault, reported.code, deadline);
      return { available: null, ending: { error: reported } };
    }
  }

  return {
    resultOrRefund: (row, result, deadline) => readOrPayBack(row, async () => result, deadline),
    refundUndelivered: (row, fault, deadline) => payBack(row, fault, 'internal', deadline),

    refundLost(row, pending) {
      settleLost(row, pending).catch((error) =>
        log.warn({ err: error, callId: row._id }, 'refund failed; the sweeper will retry it'),
      );
    },

    async refundFailed(row, code, deadline) {
      const { state } = (await calls.find(row._id).catch(() => null)) ?? row;
      if (state === 'charged' || state === 'running')
        await settleWhileWaiting({ ...row, state }, code, deadline);
    },

    async refundUnlessCharged(row, error, deadline) {
      log.error(
        { err: error, callId: row._id, requestId: row.requestId },
        'a call has no result; refunding it unless it was charged',
      );
      const { _id: callId, accountId } = row;
      const { code } = error;
      const refund = { callId, accountId, wanted: 'refunded', code, release: !row.actsOnWorld } as const;
      const signal = timeLeft(deadline);
      let settled: Settled;
      try {
        settled = await untilAborted(
          retryStoreUntilAborted(() => ledger.settle(refund), signal),
          signal,
        );
      } catch {
        // A call that can be replayed continues; the caller can fetch its result with the same Idempotency-Key.
        if (row.pendingAnswer !== undefined) await settleWhileWaiting(row, code, deadline);
        return { available: null, ending: { error } };
      }
      if (settled.state !== 'charged') return { available: settled.available, ending: { error } };
      // The call was charged in the meantime, so the caller receives the result.
      const resultNow = async (): Promise<CallResult> => {
        const end = await workflow.result(callId, timeLeft(deadline));
        if (end.state !== 'completed') throw end.error;
        return end.result;
      };
      return readOrPayBack(row, resultNow, deadline, error);
    },
  };
}
