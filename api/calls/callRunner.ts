import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApplicationFailure,
  type Client,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import canonicalize from 'canonicalize';
import type { Logger } from 'pino';
import { createFairQueue, createOwnPlaces, type FairQueue, type Place } from '../../platform/places.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Vault } from '../../platform/secrets/vault.ts';
import type { Env } from '../../schemas/env.ts';
import { ERRORS, isErrorCode, isFinalRefusal, ServiceError } from '../../schemas/errors.ts';
import { type Pool, secretFields, type ToolDefinition } from '../../schemas/tool.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { type Calls, IDEMPOTENCY_MS, type NewCall } from '../../store/calls/calls.ts';
import type { PendingAnswers } from '../../store/calls/pendingAnswers.ts';
import { INLINE_BYTES, type ResultReference, type Results } from '../../store/calls/results.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import { budgetOf } from '../../store/ledger/keySpend.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import type { Paybacks } from '../../store/ledger/paybacks.ts';
import { retryStore, retryStoreUntilAborted } from '../../store/mongo/retryStore.ts';
import { isCallFailure } from '../../workflows/contract.ts';
import type { CallPolicy, CallRequest, CallResult } from '../../workflows/types.ts';
import type { CallerWait, CallOutcome, SettledOutcome } from './callOutcome.ts';
import { type CallStep, createCallWorkflow } from './callWorkflow.ts';
import type { KeptResults } from './keptResults.ts';
import { type Outages, unavailable } from './outages.ts';
import { createSettlement, isReplayable } from './settlement.ts';
import type { Uncharged } from './uncharged.ts';

/** A validated request to run a tool. */
export interface ToolCallRequest {
  accountId: string;
  /** Null for calls from the dashboard. */
  key: Pick<ApiKeyDoc, '_id' | 'prefix' | 'dailyBudget' | 'monthlyBudget'> | null;
  tool: ToolDefinition;
  input: Record<string, unknown>;
  idempotencyKey: string | null;
  requestId: string;
  /** Id of the form that was sent, by which the dashboard finds the call while it runs. */
  formId?: string | undefined;
  /** When the request arrived, as `performance.now()`. */
  arrivedAt: number;
  /** Aborted when the response has ended or the caller disconnects. */
  hangup: AbortSignal;
  /** Called when the workflow has been started. */
  onStart?: () => void;
  /** Checks that apply to new calls but not to replays of earlier ones. @throws ServiceError */
  checkNewCall(): void;
}

export interface CallRunner {
  /**
   * Runs a call, or replays the earlier call with the same Idempotency-Key. @throws ServiceError for calls that were
   * not started
   */
  run(toolCall: ToolCallRequest): Promise<CallOutcome>;
  /**
   * Requests the cancellation of a running call, which its workflow then refunds unless it is already charging it. A call
   * that acts on the outside world completes once a worker has started it.
   *
   * @returns false if there is no workflow to cancel, because the call has ended
   */
  cancel(callId: string): Promise<boolean>;
  /** Returns how far a running call is; null if its workflow does not exist. */
  step(callId: string): Promise<CallStep | null>;
}

interface Dependencies {
  client: Client;
  calls: Calls;
  ledger: Ledger;
  results: Results;
  /** Deletes a stored input. */
  deleteInput(reference: ResultReference): Promise<void>;
  uncharged: Uncharged;
  keptResults: KeptResults;
  answers: PendingAnswers;
  paybacks: Pick<Paybacks, 'settle'>;
  outages: Pick<Outages, 'nextOutage'>;
  vault: Vault;
  keyring: Keyring;
  /** URL at which workers reach the vault of this process. */
  vaultUrl: string;
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT' | 'CALLS_PER_POOL'>;
  log: Logger;
}

/** Parameters of the start of a call's workflow. */
interface Start {
  request: CallRequest;
  /** Number of calls of the account that this process runs in the pool, including this one. */
  running: number;
  /** Called when the workflow has been started. */
  onStart?: (() => void) | undefined;
}

/** Maximum time from the acceptance of a call to its response. Common proxies close a request after 100 s or more. */
const LONGEST_CALL_MS = 100_000;
/**
 * Time in addition to the workflow's deadline that the API allows for two ledger steps and the network round trips.
 */
const OVERHEAD_MS = 5000;
/**
 * Time in addition to the tool's limits that a call may spend waiting for workflow tasks, when very many workflows
 * start at once.
 */
const CROWD_MS = 20_000;
/**
 * Time reserved after the deadline for refunding a call, or for reading its result if it was charged in the meantime.
 */
const GIVE_UP_MS = 3000;
/**
 * How long the result of a call without an Idempotency-Key is kept; it is not read again after the first response.
 */
const RESULT_KEPT_MS = 15 * 60_000;
/**
 * How long a stored result is kept after its Idempotency-Key expires, so that a replay that has begun can still read
 * it.
 */
const RESULT_AFTER_KEY_MS = 3_600_000;
/** Time for its work that a call has left, even if it has waited as long as possible for a worker. */
const LEAST_WORK_MS = 25_000;
/** Share of a call's time for waiting for a worker that it may spend waiting in the API for a place. */
const PLACE_WAIT_SHARE = 0.5;
/** Time limit for an operation of the owner on a running call. */
const OPERATION_MS = 5000;
/** How often and at which interval a cancellation is repeated: the workflow of an accepted call may not have started. */
const CANCEL_ATTEMPTS = 5;
const CANCEL_INTERVAL_MS = 200;
/**
 * Interval at which a call is marked as still being started. Well below the age at which the sweeper ends calls without
 * a workflow.
 */
const TOUCH_INTERVAL_MS = 5000;
/**
 * Maximum number of stored results of one account that a process replays at the same time, from reading them to the end of
 * the response. The largest have 50 MB.
 */
const MAX_REPLAYS = 4;
const REPLAY_WAIT_MS = 10_000;
const REPLAY_RETRY_S = 5;
/** Maximum number of concurrent calls of one account in one pool. */
export const MAX_RUNNING = 64;
const DEFAULT_ATTEMPTS = 3;

const FINAL_CODES = Object.keys(ERRORS).filter((code) => isErrorCode(code) && isFinalRefusal(code));

/**
 * Returns the limits of a call's workflow. Calls with side effects outside the service (`actsOnWorld`) are attempted
 * once.
 *
 * @param waitedMs milliseconds that the call has waited for a place, which shorten its wait for a worker
 */
export function policyOf(
  tool: ToolDefinition,
  actsOnWorld: boolean,
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT'>,
  waitedMs = 0,
): CallPolicy {
  const { workMs, attemptMs = workMs, attempts = DEFAULT_ATTEMPTS } = tool.limits;
  const longest = LONGEST_CALL_MS - OVERHEAD_MS - GIVE_UP_MS - waitedMs;
  const queueMs = Math.min(limits.POOL_WAIT - waitedMs, longest - Math.min(workMs, LEAST_WORK_MS));
  return {
    tool: tool.name,
    pool: tool.pool,
    price: tool.price,
    maxRunning: limits.RATE_LIMIT === null ? null : MAX_RUNNING,
    isFast: tool.fast ?? false,
    attempts: actsOnWorld ? 1 : attempts,
    queueMs,
    attemptMs,
    deadlineMs: Math.min(longest, queueMs + workMs + CROWD_MS),
    actsOnWorld,
    finalCodes: FINAL_CODES,
  };
}

export function createCallRunner(deps: Dependencies): CallRunner {
  const { calls, results, answers, vault, keyring, log } = deps;
  const workflow = createCallWorkflow(deps.client, (error) =>
    log.warn({ err: error }, 'Temporal is unreachable; retrying'),
  );
  const { resultOrRefund, refundCancelled, refundUnlessCharged, refundUndelivered, refundLost } =
    createSettlement({
      ...deps,
      workflow,
    });
  const places = deps.limits.RATE_LIMIT === null ? Number.POSITIVE_INFINITY : deps.limits.CALLS_PER_POOL;
  const queues: Readonly<Record<Pool | 'fast', FairQueue>> = {
    browser: createFairQueue(places),
    cpu: createFairQueue(places),
    network: createFairQueue(places),
    heavy: createFairQueue(places),
    fast: createFairQueue(places),
  };

  /**
   * Waits for a place in the pool, or in the lane of fast tools. A call keeps its place until it ends, so that at most `CALLS_PER_POOL` workflows of
   * this process compete for the servers and workers, however many calls arrive. @throws ServiceError pool_busy when the
   * signal aborts
   */
  const takePlace = (
    { pool, fast = false }: ToolDefinition,
    accountId: string,
    signal: AbortSignal,
  ): Promise<Place> =>
    queues[fast ? 'fast' : pool].enter(accountId, signal).catch((error) => {
      throw new ServiceError('pool_busy', { cause: error });
    });

  const replays = createOwnPlaces(MAX_REPLAYS);

  /**
   * Waits until a stored result may be replayed. The place is free again when the response has ended.
   *
   * @throws ServiceError rate_limited
   */
  async function takeReplayPlace(accountId: string, { hangup }: CallerWait): Promise<void> {
    const signal = AbortSignal.any([hangup, AbortSignal.timeout(REPLAY_WAIT_MS)]);
    const place = await replays.enter(accountId, signal).catch((error) => {
      throw new ServiceError('rate_limited', {
        detail: `At most ${MAX_REPLAYS} large results of an account are replayed at the same time.`,
        retryAfter: REPLAY_RETRY_S,
        cause: error,
      });
    });
    const leave = () => place[Symbol.dispose]();
    if (hangup.aborted) leave();
    else hangup.addEventListener('abort', leave, { once: true });
  }

  /**
   * Moves the input to MongoDB if it is too large for a workflow payload, and returns the request with the reference.
   */
  async function storeLargeInput(request: CallRequest, signal: AbortSignal): Promise<CallRequest> {
    const { callId, input } = request;
    const json = Buffer.from(JSON.stringify(input));
    if (json.length <= INLINE_BYTES) return request;
    const write = () => results.write(callId, json, new Date(Date.now() + RESULT_KEPT_MS), `${callId}:input`);
    return { ...request, input: {}, storedInput: await retryStoreUntilAborted(write, signal) };
  }

  /**
   * Starts the workflow of a call. While Temporal is unreachable this can take longer than the sweeper waits before it
   * ends a call without a workflow; the call is therefore marked at intervals as still being started.
   *
   * @returns the reference to the stored input, if it was stored
   */
  async function startWorkflow(
    { request, running, onStart }: Start,
    signal: AbortSignal,
  ): Promise<ResultReference | undefined> {
    // A mark that cannot be written is repeated at the next interval.
    const touch = () => void calls.touch(request.callId).catch(() => undefined);
    const timer = setInterval(touch, TOUCH_INTERVAL_MS);
    try {
      const stored = await storeLargeInput(request, signal);
      await workflow.start(stored, running, signal);
      onStart?.();
      return stored.storedInput;
    } finally {
      clearInterval(timer);
    }
  }

  /** Converts the failure of a workflow to an error of the error table. */
  async function outcomeOfFailure(
    error: WorkflowFailedError,
    row: CallDoc,
    wait: CallerWait,
  ): Promise<SettledOutcome> {
    const { cause } = error;
    if (cause instanceof ApplicationFailure && cause.type) {
      const details = cause.details?.[0];
      const { members, retryAfter, available } = isCallFailure(details)
        ? details
        : { members: {}, retryAfter: null, available: null };
      const code = isErrorCode(cause.type) ? cause.type : 'internal';
      if (code === 'cancelled') await refundCancelled(row, wait);
      if (code === 'internal')
        log.error({ err: error, callId: row._id, requestId: row.requestId }, 'call failed');
      return {
        available,
        ending: {
          error: new ServiceError(code, {
            ...members,
            ...(code === cause.type ? { detail: cause.message } : {}),
            ...(retryAfter === null ? {} : { retryAfter }),
          }),
        },
      };
    }
    // The workflow did not fail by itself but was terminated or timed out, so it did not settle the call.
    return refundUnlessCharged(row, new ServiceError('internal', { cause: error }), wait);
  }

  /** Deletes the stored input of a call whose workflow has ended. If that fails, MongoDB deletes it some minutes later. */
  function forgetInput(storedInput: ResultReference | undefined): void {
    if (storedInput === undefined) return;
    deps
      .deleteInput(storedInput)
      .catch((error) => log.warn({ err: error }, 'could not delete the input of a call that has ended'));
  }

  /** Returns the error of a call whose history was deleted; null if it was not refused. See `uncharged.ts`. */
  async function endedWith(callId: string): Promise<ServiceError | null> {
    const code = (await retryStore(() => calls.find(callId)))?.code;
    return isErrorCode(code) ? new ServiceError(code) : null;
  }

  /**
   * Starts the workflow and waits for its result. If `start` is null, the call has already ended and only the result is
   * read.
   */
  async function awaitOutcome(
    row: CallDoc,
    start: Start | null,
    wait: CallerWait,
    replayed: boolean,
  ): Promise<CallOutcome> {
    const { hangup } = wait;
    const outcome = {
      callId: row._id,
      requestId: row.requestId,
      replayed,
      ended(isComplete: boolean) {
        if (row.pendingAnswer === undefined) return;
        if (isComplete) answers.delivered(row._id);
        else refundLost(row, row.pendingAnswer);
      },
      undelivered: (fault: unknown) =>
        row.pendingAnswer === undefined ? Promise.resolve() : refundUndelivered(row, fault, 'internal', wait),
    };
    const deadlineMs = start === null ? OVERHEAD_MS : start.request.policy.deadlineMs + OVERHEAD_MS;
    const timeout = AbortSignal.timeout(deadlineMs);
    const cancel = () => {
      workflow
        .cancel(row._id, timeout)
        .catch((error) => log.warn({ err: error }, 'could not cancel the workflow of a call'));
    };
    const respond = ({ ending, available }: SettledOutcome): CallOutcome => ({
      ...outcome,
      ending,
      available: start === null ? null : available,
    });
    // A call that cannot be started in an outage of Temporal is refused as soon as the outage is detected. A call with
    // side effects keeps waiting: refusing it would use up its Idempotency-Key, because Temporal may have started it.
    const outage = row.actsOnWorld ? new AbortController().signal : deps.outages.nextOutage('temporal');
    let hasStarted = start === null;
    let storedInput: ResultReference | undefined;
    let result: CallResult;
    try {
      if (start !== null) storedInput = await startWorkflow(start, AbortSignal.any([timeout, outage]));
      hasStarted = true;
      if (!isReplayable(row)) {
        if (hangup.aborted) cancel();
        else hangup.addEventListener('abort', cancel, { once: true });
      }
      result = await workflow.result(row._id, timeout);
    } catch (error) {
      if (error instanceof WorkflowFailedError) {
        const failed = await outcomeOfFailure(error, row, wait);
        forgetInput(storedInput);
        if (!replayed && 'error' in failed.ending) void deps.uncharged.ended(row, failed.ending.error.code);
        return respond(failed);
      }
      const ended = error instanceof WorkflowNotFoundError ? await endedWith(row._id) : null;
      if (ended !== null) return respond({ available: null, ending: { error: ended } });
      if (start === null && row.pendingAnswer === undefined) throw error; // a replay of a call that has ended
      const code = timeout.aborted ? 'deadline_exceeded' : 'internal';
      const fault = !hasStarted && outage.aborted ? unavailable() : new ServiceError(code, { cause: error });
      return respond(await refundUnlessCharged(row, fault, wait));
    } finally {
      hangup.removeEventListener('abort', cancel);
    }
    forgetInput(storedInput);
    // A small result is part of the workflow's own.
    const stored = 'stored' in result.result ? result.result.stored : null;
    if (replayed && stored !== null && row.pendingAnswer === undefined)
      await takeReplayPlace(row.accountId, wait);
    const settled = await resultOrRefund(row, async () => result, wait);
    if (!replayed && isReplayable(row) && stored !== null && 'output' in settled.ending)
      void deps.keptResults.count(row.accountId, stored, settled.ending.output.length);
    return respond(settled);
  }

  return {
    async cancel(callId) {
      const signal = AbortSignal.timeout(OPERATION_MS);
      for (let left = CANCEL_ATTEMPTS; left > 0; left--) {
        try {
          await workflow.cancel(callId, signal);
          return true;
        } catch (error) {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        }
        await sleep(CANCEL_INTERVAL_MS);
      }
      return false;
    },

    async step(callId) {
      try {
        return await workflow.step(callId, AbortSignal.timeout(OPERATION_MS));
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return null;
        throw error;
      }
    },

    async run(toolCall) {
      const { accountId, key, tool, input, idempotencyKey, requestId, arrivedAt, formId } = toolCall;
      const checkedAt = performance.now();
      const secrets = secretFields(tool).filter((name) => name in input);
      const open = Object.fromEntries(Object.entries(input).filter(([name]) => !secrets.includes(name)));
      // Only requests with an Idempotency-Key are compared. Canonicalizing an input of 5 MB takes tens of milliseconds.
      const isCompared = idempotencyKey !== null && secretFields(tool).length === 0;
      const text = isCompared ? (canonicalize({ tool: tool.name, input }) ?? null) : null;
      // Calls from the dashboard cannot be replayed, because the dashboard does not show the idempotency key of a
      // form.
      const canReplay = key !== null && idempotencyKey !== null && text !== null;
      const actsOnWorld = tool.actsOnWorld?.(input) ?? false;
      const policyAfter = (waitedMs: number) => policyOf(tool, actsOnWorld, deps.limits, waitedMs);
      const now = Date.now();
      const wait: CallerWait = { hangup: toolCall.hangup, deadline: checkedAt + LONGEST_CALL_MS };
      const requestFor = (row: CallDoc, policy: CallPolicy): CallRequest => ({
        callId: row._id,
        accountId,
        requestId: row.requestId,
        policy,
        input: open,
        vault: null,
        // The budget of the key whose request starts the workflow counts, also if another key claimed the call.
        ...(key !== null && { key: budgetOf(key) }),
        resultExpiresAt: new Date(
          row.idempotency === undefined
            ? now + RESULT_KEPT_MS
            : row.idempotency.expiresAt.getTime() + RESULT_AFTER_KEY_MS,
        ).toISOString(),
      });

      const replay = async (row: CallDoc): Promise<CallOutcome> => {
        const known = row.idempotency?.fingerprint ?? null;
        if (known === null || text === null) throw new ServiceError('idempotency_key_used');
        if (keyring.mac('fingerprint', text, known.slice(0, known.indexOf(':'))) !== known)
          throw new ServiceError('idempotency_key_mismatch');
        // A form of the dashboard was submitted twice: this request takes over answering the call.
        const adopted = row.pendingAnswer === undefined ? undefined : await answers.adopt(row._id);
        if (adopted === null) {
          const { pendingAnswer, ...now } = (await calls.find(row._id)) ?? row;
          if (pendingAnswer !== undefined || now.idempotency === undefined)
            throw new ServiceError('internal', { cause: new Error(`call ${row._id} is being refunded`) });
          return awaitOutcome(now, null, wait, true);
        }
        const current = adopted === undefined ? row : { ...row, pendingAnswer: adopted };
        if (row.state !== 'running') return awaitOutcome(current, null, wait, true);
        await calls.touch(row._id);
        return awaitOutcome(current, { request: requestFor(row, policyAfter(0)), running: 1 }, wait, true);
      };

      if (idempotencyKey !== null) {
        const first = await retryStore(() => calls.findByKey(accountId, idempotencyKey));
        if (first !== null) return replay(first);
      }
      toolCall.checkNewCall();
      const tooLong = AbortSignal.timeout(Math.round(policyAfter(0).queueMs * PLACE_WAIT_SHARE));
      // A call with an Idempotency-Key runs even if its caller disconnects.
      const placeWait = canReplay ? tooLong : AbortSignal.any([tooLong, toolCall.hangup]);
      using place = await takePlace(tool, accountId, placeWait);
      const newCall: NewCall = {
        _id: randomUUID(),
        accountId,
        keyId: key?._id ?? null,
        keyPrefix: key?.prefix ?? null,
        tool: tool.name,
        cost: tool.price,
        requestId,
        actsOnWorld,
        timing: {
          accept: Math.round(checkedAt - arrivedAt),
          queue: Math.round(performance.now() - checkedAt),
        },
        ...(formId !== undefined && { formId }),
        ...(canReplay ? {} : { pendingAnswer: answers.fresh() }),
        ...(idempotencyKey === null
          ? {}
          : {
              idempotency: {
                key: idempotencyKey,
                fingerprint: text === null ? null : keyring.mac('fingerprint', text),
                expiresAt: new Date(now + IDEMPOTENCY_MS),
              },
            }),
      };
      const { claimed, call } = await retryStore(() => calls.claim(newCall));
      if (!claimed) return replay(call);

      const request = requestFor(call, policyAfter(Math.round(performance.now() - checkedAt)));
      const start = { running: place.held, onStart: toolCall.onStart };
      if (secrets.length === 0) return await awaitOutcome(call, { ...start, request }, wait, false);
      const token = vault.put(call._id, Object.fromEntries(secrets.map((name) => [name, input[name]])));
      try {
        const withVault = { ...request, vault: { url: deps.vaultUrl, token } };
        return await awaitOutcome(call, { ...start, request: withVault }, wait, false);
      } finally {
        vault.drop(call._id);
      }
    },
  };
}
