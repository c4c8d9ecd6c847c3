import { randomUUID } from 'node:crypto';
import { ApplicationFailure, type Client, WorkflowFailedError } from '@temporalio/client';
import canonicalize from 'canonicalize';
import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import { ERRORS, isErrorCode, isFinalRefusal, ServiceError } from '../../schemas/errors.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';
import { type Calls, IDEMPOTENCY_MS } from '../../store/calls.ts';
import type { Keyring } from '../../store/keyring.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { ApiKeyDoc, CallDoc } from '../../store/mongo.ts';
import type { PendingAnswers } from '../../store/pendingAnswers.ts';
import { INLINE_BYTES, type Results } from '../../store/results.ts';
import type { Undelivered } from '../../store/undelivered.ts';
import type { Vault } from '../../store/vault.ts';
import { retryStoreUntilAborted } from '../../workers/platform/retryUntilAborted.ts';
import type { CallFailure, CallPolicy, CallRequest, CallResult } from '../../workflows/types.ts';
import type { DispatchEvents } from '../webhooks/startDispatch.ts';
import { createCallWorkflow } from './callWorkflow.ts';
import { createSettling, type Ended, isRepeatable, type Waiting } from './settlement.ts';

/** A validated request to run a tool. */
export interface Order {
  accountId: string;
  /** Null for the dashboard's own calls. */
  key: Pick<ApiKeyDoc, '_id' | 'prefix'> | null;
  tool: ToolDefinition;
  input: Record<string, unknown>;
  idempotencyKey: string | null;
  requestId: string;
  /** Aborted when the caller hangs up. */
  hangup: AbortSignal;
  /** Raises what must be refused before a new call begins, but not before an earlier one is replayed. */
  admit(): void;
}

/** How a call ended: with its output as JSON, which was charged, or with an error of the table, which was not. */
export interface Outcome {
  callId: string;
  /** The request id of the first call with this key; a refusal's body repeats it. */
  requestId: string;
  replayed: boolean;
  /** Credits available when the call ended; null when that was before it was asked for again. */
  available: number | null;
  ending: { output: string | Buffer } | { error: ServiceError };
  /** To be called when the response with the output was handed to the operating system, or the caller hung up. */
  delivered(): void;
  /** To be awaited before the caller gets an error in place of the output: the price is given back. */
  undelivered(fault: unknown): Promise<void>;
}

export interface CallRunner {
  run(order: Order): Promise<Outcome>;
}

interface Dependencies {
  client: Client;
  calls: Calls;
  ledger: Ledger;
  results: Results;
  dispatchEvents: DispatchEvents;
  answers: PendingAnswers;
  owed: Pick<Undelivered, 'settle'>;
  vault: Vault;
  keyring: Keyring;
  /** Where the pools reach this process's vault. */
  vaultUrl: string;
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT'>;
  log: Logger;
}

/** No call takes longer from its acceptance to its answer: common proxies cut at 100 s and beyond. */
const LONGEST_CALL_MS = 100_000;
/** What the API adds to the work's own time before it gives a call up: two money steps and the way to and fro. */
const OVERHEAD_MS = 5000;
/** What workflows may wait for each other when very many begin at once; a call that can still be done is not given up. */
const CROWD_MS = 20_000;
/** At the least for giving a call up, and for the result of one that was charged in that moment. */
const GIVE_UP_MS = 3000;
/** Results without an Idempotency-Key are fetched at once or never. */
const RESULT_KEPT_MS = 15 * 60_000;
/** A stored result outlives its key by this, so that a replay that just began can still read it. */
const RESULT_AFTER_KEY_MS = 3_600_000;
/** Calls of one account that may run in one pool at once. */
export const MAX_RUNNING = 64;
const DEFAULT_ATTEMPTS = 3;

const FINAL_CODES = Object.keys(ERRORS).filter((code) => isErrorCode(code) && isFinalRefusal(code));

export function policyOf(
  tool: ToolDefinition,
  actsOnWorld: boolean,
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT'>,
): CallPolicy {
  const { workMs, attemptMs = workMs, attempts = DEFAULT_ATTEMPTS } = tool.limits;
  const longest = LONGEST_CALL_MS - OVERHEAD_MS - GIVE_UP_MS;
  const queueMs = Math.min(limits.POOL_WAIT, longest - workMs);
  return {
    tool: tool.name,
    pool: tool.pool,
    price: tool.price,
    maxRunning: limits.RATE_LIMIT === null ? null : MAX_RUNNING,
    attempts: actsOnWorld ? 1 : attempts,
    queueMs,
    attemptMs,
    deadlineMs: Math.min(longest, queueMs + workMs + CROWD_MS),
    actsOnWorld,
    finalCodes: FINAL_CODES,
  };
}

const isCallFailure = (value: unknown): value is CallFailure =>
  typeof value === 'object' && value !== null && 'members' in value && 'available' in value;

export function createCallRunner(deps: Dependencies): CallRunner {
  const { calls, results, answers, vault, keyring, log } = deps;
  const workflow = createCallWorkflow(deps.client, (error) =>
    log.warn({ err: error }, 'temporal is not to be reached, trying again'),
  );
  const { payOut, giveUp, giveBack } = createSettling({ ...deps, workflow });

  /** Puts an input that is too big for a workflow's payloads where its worker finds it. */
  async function lighten(request: CallRequest, signal: AbortSignal): Promise<CallRequest> {
    const { callId, input } = request;
    const json = Buffer.from(JSON.stringify(input));
    if (json.length <= INLINE_BYTES) return request;
    const write = () => results.write(callId, json, new Date(Date.now() + RESULT_KEPT_MS), `${callId}:input`);
    return { ...request, input: {}, storedInput: await retryStoreUntilAborted(write, signal) };
  }

  /** The failure that ended the workflow, as the error it stands for. */
  async function asOutcome(error: WorkflowFailedError, row: CallDoc, waiting: Waiting): Promise<Ended> {
    const { cause } = error;
    if (cause instanceof ApplicationFailure && cause.type) {
      const details = cause.details?.[0];
      const { members, retryAfter, available } = isCallFailure(details)
        ? details
        : { members: {}, retryAfter: null, available: null };
      const code = isErrorCode(cause.type) ? cause.type : 'internal';
      if (code === 'internal' && cause.type !== 'cancelled')
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
    // The workflow was terminated or failed from outside, so it has not settled the call.
    return giveUp(row, new ServiceError('internal', { cause: error }), waiting);
  }

  /** Starts the workflow (unless `request` is null: it ended long ago), and waits for its end. */
  async function awaitEnd(
    row: CallDoc,
    request: CallRequest | null,
    waiting: Waiting,
    replayed: boolean,
  ): Promise<Outcome> {
    const { hangup } = waiting;
    const outcome = {
      callId: row._id,
      requestId: row.requestId,
      replayed,
      delivered: () => (row.pendingAnswer === undefined ? undefined : answers.delivered(row._id)),
      undelivered: (fault: unknown) =>
        row.pendingAnswer === undefined ? Promise.resolve() : giveBack(row, fault, 'internal', waiting),
    };
    const deadlineMs = request === null ? OVERHEAD_MS : request.policy.deadlineMs + OVERHEAD_MS;
    const timeout = AbortSignal.timeout(deadlineMs);
    const cancel = () => {
      workflow.cancel(row._id, timeout).catch((error) => log.warn({ err: error }, 'cancel failed'));
    };
    const answer = ({ ending, available }: Ended): Outcome => ({
      ...outcome,
      ending,
      available: request === null ? null : available,
    });
    let ended: CallResult;
    try {
      if (request !== null) await workflow.start(await lighten(request, timeout), timeout);
      if (!isRepeatable(row)) {
        if (hangup.aborted) cancel();
        else hangup.addEventListener('abort', cancel, { once: true });
      }
      ended = await workflow.result(row._id, timeout);
    } catch (error) {
      if (error instanceof WorkflowFailedError) return answer(await asOutcome(error, row, waiting));
      if (request === null && row.pendingAnswer === undefined) throw error; // a replay: the call ended before
      const code = timeout.aborted ? 'deadline_exceeded' : 'internal';
      return answer(await giveUp(row, new ServiceError(code, { cause: error }), waiting));
    } finally {
      hangup.removeEventListener('abort', cancel);
    }
    return answer(await payOut(row, async () => ended, waiting));
  }

  return {
    async run(order) {
      const { accountId, key, tool, input, idempotencyKey, requestId } = order;
      const secrets = secretFields(tool).filter((name) => name in input);
      const hasSecrets = secretFields(tool).length > 0;
      const open = Object.fromEntries(Object.entries(input).filter(([name]) => !secrets.includes(name)));
      const text = hasSecrets ? null : (canonicalize({ tool: tool.name, input }) ?? null);
      // Users of the dashboard do not know the key that their form carries.
      const isReplayable = key !== null && idempotencyKey !== null && text !== null;
      const actsOnWorld = tool.actsOnWorld?.(input) ?? false;
      const policy = policyOf(tool, actsOnWorld, deps.limits);
      const now = Date.now();
      const waiting: Waiting = { hangup: order.hangup, until: now + LONGEST_CALL_MS };
      const requestFor = (row: CallDoc): CallRequest => ({
        callId: row._id,
        accountId,
        requestId: row.requestId,
        policy,
        input: open,
        vault: null,
        resultExpiresAt: new Date(
          row.idempotency === undefined
            ? now + RESULT_KEPT_MS
            : row.idempotency.expiresAt.getTime() + RESULT_AFTER_KEY_MS,
        ).toISOString(),
      });

      const repeat = async (row: CallDoc): Promise<Outcome> => {
        const known = row.idempotency?.fingerprint ?? null;
        if (known === null || text === null) throw new ServiceError('idempotency_key_used');
        if (keyring.mac('fingerprint', text, known.slice(0, known.indexOf(':'))) !== known)
          throw new ServiceError('idempotency_key_mismatch');
        // The same form of the dashboard sent twice: its answer now goes out here.
        if (row.pendingAnswer !== undefined && !(await answers.adopt(row._id))) {
          const { pendingAnswer, ...now } = (await calls.find(row._id)) ?? row;
          if (pendingAnswer !== undefined || now.idempotency === undefined)
            throw new ServiceError('internal', { cause: new Error(`call ${row._id} is being refunded`) });
          return awaitEnd(now, null, waiting, true);
        }
        if (row.state !== 'running') return awaitEnd(row, null, waiting, true);
        await calls.touch(row._id);
        return awaitEnd(row, requestFor(row), waiting, true);
      };

      if (idempotencyKey !== null) {
        const first = await calls.findByKey(accountId, idempotencyKey);
        if (first !== null) return repeat(first);
      }
      order.admit();
      const { claimed, call } = await calls.claim({
        _id: randomUUID(),
        accountId,
        keyId: key?._id ?? null,
        keyPrefix: key?.prefix ?? null,
        tool: tool.name,
        cost: tool.price,
        requestId,
        actsOnWorld,
        ...(isReplayable ? {} : { pendingAnswer: answers.fresh() }),
        ...(idempotencyKey === null
          ? {}
          : {
              idempotency: {
                key: idempotencyKey,
                fingerprint: text === null ? null : keyring.mac('fingerprint', text),
                expiresAt: new Date(now + IDEMPOTENCY_MS),
              },
            }),
      });
      if (!claimed) return repeat(call);

      const request = requestFor(call);
      if (secrets.length === 0) return awaitEnd(call, request, waiting, false);
      const token = vault.put(call._id, Object.fromEntries(secrets.map((name) => [name, input[name]])));
      try {
        return await awaitEnd(call, { ...request, vault: { url: deps.vaultUrl, token } }, waiting, false);
      } finally {
        vault.drop(call._id);
      }
    },
  };
}
