import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Vault } from '../../platform/secrets/vault.ts';
import { createFairSemaphore, type FairSemaphore, type Slot } from '../../platform/semaphores.ts';
import type { Env } from '../../schemas/env.ts';
import { isErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { Pool } from '../../schemas/pools.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import type { CallContents } from '../../store/calls/callContents.ts';
import { OVERHEAD_MS, policyOf } from '../../store/calls/callPolicy.ts';
import type { Calls } from '../../store/calls/calls.ts';
import type { PendingAnswers } from '../../store/calls/pendingAnswers.ts';
import { ResultGone, type ResultReference, type Results } from '../../store/calls/results.ts';
import type { Files } from '../../store/files/files.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import type { ReceiptKeys } from '../../store/receipts/receiptKeys.ts';
import type { CallResult } from '../../workflows/types.ts';
import type { ApiMetrics } from '../http/metrics.ts';
import { type Admission, type AdmissionDependencies, createAdmission } from './admission.ts';
import type { Attention } from './attention.ts';
import type { CallWorkflow, FailedEnd, WorkflowEnd } from './callWorkflow.ts';
import type { Outages } from './outages.ts';
import { begin, canReplay, createCallRecords, openInput, type Recorded, type Run } from './recordCall.ts';
import { createRefunds, isReplayable, noLongerKept, type RefundDependencies } from './refunds.ts';
import type { ReadSlot, ReplaySlots } from './replaySlots.ts';
import type { Retention } from './retention.ts';
import type { ResultReuse } from './reuse.ts';
import { createRunWorkflow } from './runWorkflow.ts';
import type { Answer, CallOutcome, ToolCall } from './toolCall.ts';

/** Runs tool calls: those of the API route, of the MCP endpoint, of the dashboard and of the trial. */
export interface ToolCallService extends Pick<Admission, 'authorize' | 'validate' | 'admitLater'> {
  /**
   * Runs a call, or replays the earlier call with the same Idempotency-Key. @throws ServiceError for calls that were
   * not started
   */
  run(call: ToolCall): Promise<Answer>;
  cancel: CallWorkflow['cancelForOwner'];
  step: CallWorkflow['step'];
}

interface Dependencies extends AdmissionDependencies, RefundDependencies {
  workflow: CallWorkflow;
  calls: Calls;
  answers: PendingAnswers;
  accounts: Pick<Accounts, 'find'>;
  files: Pick<Files, 'reference'>;
  publicUrl(): string;
  results: Results;
  deleteInput(reference: ResultReference): Promise<void>;
  contents: Pick<CallContents, 'keep'>;
  retention: Retention;
  reuse: ResultReuse;
  replaySlots: ReplaySlots;
  outages: Pick<Outages, 'refuse' | 'nextOutage'>;
  vault: Vault;
  keyring: Keyring;
  receiptKeys: Pick<ReceiptKeys, 'digestKeysOf'>;
  /** URL at which workers reach the vault of this process. */
  vaultUrl: string;
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT' | 'CALLS_PER_POOL'>;
  metrics: Pick<ApiMetrics, 'call'>;
  attention: Pick<Attention, 'spending'>;
}

type FoundWithOutput = NonNullable<Awaited<ReturnType<ResultReuse['find']>>>;

/** Share of a call's time for waiting for a worker that it may spend waiting in the API for a slot. */
const SLOT_WAIT_SHARE = 0.5;
/** Share of the slots of a pool that only accounts without a running call in it get. */
const FIRST_SHARE = 0.25;

/** Creates the steps of a call, here in the order in which a call takes them. */
export function createToolCallService(deps: Dependencies): ToolCallService {
  const { workflow, retention, reuse, calls, answers, limits, log } = deps;
  const records = createCallRecords(deps);
  const runWorkflow = createRunWorkflow(deps);
  const refunds = createRefunds(deps);
  const admission = createAdmission(deps);
  const slots = limits.RATE_LIMIT === null ? Number.POSITIVE_INFINITY : limits.CALLS_PER_POOL;
  const firstSlots = limits.RATE_LIMIT === null ? 0 : Math.floor(limits.CALLS_PER_POOL * FIRST_SHARE);
  const queues = new Map<Pool | 'fast', FairSemaphore>();

  async function run(call: ToolCall): Promise<Answer> {
    const run = begin(call);
    const earlier = await records.findEarlier(run);
    const reusable = earlier === null ? await reuse.find(run) : null;
    if (reusable !== null) return answerAtOnce(run, reusable);
    using held = new DisposableStack();
    let recorded: Recorded;
    if (earlier === null) {
      admission.admit(call);
      deps.attention.spending(call.caller, call.tool.price);
      const slot = held.use(await takeSlot(run));
      recorded = await records.claim(run, slot.held);
    } else recorded = await records.replay(run, earlier);
    // The earlier call has a slot of its own.
    if (recorded.replayed) held.dispose();
    return await answer(recorded, await complete(recorded));
  }

  /** Answers a call with the result of an earlier one, which needs neither credits nor a slot. */
  async function answerAtOnce(run: Run, { found, output }: FoundWithOutput): Promise<Answer> {
    const recorded = await records.claimAnswered(run, found, output);
    if (recorded.replayed) return answer(recorded, await complete(recorded));
    const stored = recorded.row.reused?.copy;
    return answer(recorded, { available: null, ending: { output }, stored });
  }

  /** Reads what a replay of such a call repeats. @throws ServiceError idempotency_key_used if it is no longer kept */
  async function readCopy({ row, call }: Recorded, copy: ResultReference): Promise<CallOutcome> {
    using slot = await deps.replaySlots.acquire(row.accountId, call.hangup);
    try {
      const output = await retryStore(() => deps.results.read(row._id, copy));
      slot.noteSize(output.length);
      return { available: null, ending: { output } };
    } catch (error) {
      throw error instanceof ResultGone ? noLongerKept(error) : error;
    }
  }

  /**
   * Waits for a slot in the pool, or in the lane of fast tools. A call keeps its slot until it ends, so that at most
   * `CALLS_PER_POOL` workflows of this process compete for the servers and workers, however many calls arrive.
   *
   * @throws ServiceError pool_busy when the time is over or the caller disconnects
   */
  function takeSlot(run: Run): Promise<Slot> {
    const { caller, tool, hangup } = run.call;
    const name = tool.fast ? 'fast' : tool.pool;
    const queue = queues.get(name) ?? createFairSemaphore(slots, firstSlots);
    queues.set(name, queue);
    const { queueMs } = policyOf(tool, run.actsOnWorld, limits);
    const tooLong = AbortSignal.timeout(Math.round(queueMs * SLOT_WAIT_SHARE));
    // A call with an Idempotency-Key runs even if its caller disconnects.
    const signal = canReplay(run) ? tooLong : AbortSignal.any([tooLong, hangup]);
    return queue.acquire(caller.account._id, signal).catch((error) => {
      throw new ServiceError('pool_busy', { cause: error });
    });
  }

  /** Starts the workflow, waits for its end, and settles the call. */
  async function complete(recorded: Recorded): Promise<CallOutcome> {
    const { row, start } = recorded;
    const copy = row.reused?.copy;
    if (copy !== undefined) return readCopy(recorded, copy);
    const timeout = AbortSignal.timeout((start?.request.policy.deadlineMs ?? 0) + OVERHEAD_MS);
    let end: WorkflowEnd;
    try {
      end =
        start === null
          ? await workflow.result(row._id, timeout)
          : await runWorkflow(recorded, start, timeout);
    } catch (error) {
      return giveUp(recorded, error, timeout);
    }
    if (end.state === 'unknown')
      return (await recordedOutcome(row._id)) ?? giveUp(recorded, end.error, timeout);
    return end.state === 'completed' ? readResult(recorded, end.result) : settleFailed(recorded, end);
  }

  /**
   * Settles a call whose workflow was not started or could not be reached.
   *
   * @throws the error, for a replay of a call that has ended
   */
  async function giveUp(
    { row, start, deadline }: Recorded,
    error: unknown,
    timeout: AbortSignal,
  ): Promise<CallOutcome> {
    if (start === null && row.pendingAnswer === undefined) throw error;
    const code = timeout.aborted ? 'deadline_exceeded' : 'internal';
    const fault = error instanceof ServiceError ? error : new ServiceError(code, { cause: error });
    return refunds.refundUnlessCharged(row, fault, deadline);
  }

  /** Returns the recorded error of a call whose history was deleted; null if it was not refused. See `retention.ts`. */
  async function recordedOutcome(callId: string): Promise<CallOutcome | null> {
    const code = (await retryStore(() => calls.find(callId)))?.code;
    return isErrorCode(code) ? { available: null, ending: { error: new ServiceError(code) } } : null;
  }

  /** Waits for the slot for reading a result; null if the result is small, and so part of the workflow's own. */
  async function readSlot(
    { row, replayed, deadline, call: { hangup } }: Recorded,
    { result }: CallResult,
  ): Promise<ReadSlot | null> {
    if (!('stored' in result)) return null;
    const { accountId } = row;
    if (replayed && row.pendingAnswer === undefined) return deps.replaySlots.acquire(accountId, hangup);
    const due = AbortSignal.timeout(Math.max(0, Math.round(deadline - performance.now())));
    return deps.replaySlots.acquireFirst(accountId, AbortSignal.any([hangup, due]));
  }

  async function readResult(recorded: Recorded, result: CallResult): Promise<CallOutcome> {
    const { row, deadline } = recorded;
    using slot = await readSlot(recorded, result);
    const outcome = await refunds.resultOrRefund(row, result, deadline);
    if ('output' in outcome.ending) slot?.noteSize(outcome.ending.output.length);
    return outcome;
  }

  /** Settles a call whose workflow ended without a result. */
  async function settleFailed(
    { row, replayed, deadline }: Recorded,
    { refusal, available, error }: FailedEnd,
  ): Promise<CallOutcome> {
    if (refusal?.code === 'cancelled') await refunds.refundFailed(row, 'cancelled', deadline);
    if (refusal?.code === 'internal') {
      log.error({ err: error, callId: row._id, requestId: row.requestId }, 'call failed');
      if (row.pendingAnswer !== undefined) await refunds.refundFailed(row, 'internal', deadline);
    }
    const outcome =
      refusal === null
        ? await refunds.refundUnlessCharged(row, new ServiceError('internal', { cause: error }), deadline)
        : { available, ending: { error: refusal } };
    if (!replayed && 'error' in outcome.ending) void retention.uncharged(row, outcome.ending.error.code);
    return outcome;
  }

  /** Records the end of a call in what its account keeps, in its limits and in the metrics. */
  async function answer(
    recorded: Recorded,
    { ending, available, stored, linked }: CallOutcome,
  ): Promise<Answer> {
    const { call, row, start, replayed, deadline } = recorded;
    const { pendingAnswer, accountId } = row;
    const reused = row.reused ?? null;
    const charged = 'output' in ending && !replayed && reused === null ? call.tool.price : 0;
    let file = linked;
    if (!replayed) {
      if (isReplayable(row) && stored !== undefined && 'output' in ending)
        void retention.stored(accountId, stored, ending.output.length);
      if ('output' in ending && reused === null)
        await reuse.keep(recorded, { output: ending.output, stored, linked });
      keepContent(recorded, ending);
      if ('error' in ending) deps.timeouts.count(accountId, ending.error.code);
      deps.metrics.call(call.tool.name, 'error' in ending ? ending.error.code : 'ok', charged);
    }
    const known = start === null ? null : available;
    return {
      callId: row._id,
      startedAt: row.startedAt,
      requestId: row.requestId,
      replayed,
      charged,
      reused,
      available: (replayed || reused !== null) && known === null ? await availableNow(accountId) : known,
      ending,
      links(it) {
        file = it;
      },
      ended(isComplete) {
        // The price of a response that is lost is returned, unless it can be requested again.
        if (file !== undefined && (isComplete || pendingAnswer === undefined))
          void retention.linked(accountId, file);
        if (pendingAnswer === undefined) return;
        if (isComplete) answers.delivered(row._id);
        else refunds.refundLost(row, pendingAnswer);
      },
      async undelivered(fault) {
        if (pendingAnswer !== undefined) await refunds.refundUndelivered(row, fault, deadline);
      },
    };
  }

  /**
   * Reads the available credits again, because other requests may have spent some since this request was
   * authenticated.
   */
  async function availableNow(accountId: string): Promise<number | null> {
    // The header is left out while MongoDB is unavailable.
    const account = await deps.accounts.find(accountId).catch(() => null);
    return account === null ? null : account.balance - account.reserved;
  }

  /** Keeps input and output of a call that has ended, if the account does so. */
  function keepContent(recorded: Recorded, ending: CallOutcome['ending']): void {
    const { account } = recorded.call.caller;
    if (account.keepsContents !== true) return;
    void deps.contents.keep({
      callId: recorded.row._id,
      accountId: account._id,
      input: openInput(recorded),
      hadSecrets: recorded.secrets.length > 0,
      ending:
        'output' in ending
          ? { json: ending.output }
          : { error: { code: ending.error.code, detail: ending.error.detail, ...ending.error.members } },
    });
  }

  const { authorize, validate, admitLater } = admission;
  return { authorize, validate, admitLater, run, cancel: workflow.cancelForOwner, step: workflow.step };
}
