import { randomUUID } from 'node:crypto';
import {
  ApplicationFailure,
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
} from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import canonicalize from 'canonicalize';
import type { Logger } from 'pino';
import type { Env } from '../schemas/env.ts';
import { ERRORS, isErrorCode, isFinalRefusal, ServiceError } from '../schemas/errors.ts';
import { secretFields, type ToolDefinition } from '../schemas/tool.ts';
import type { Accounts } from '../store/accounts.ts';
import { type Calls, IDEMPOTENCY_MS } from '../store/calls.ts';
import type { Keyring } from '../store/keyring.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ApiKeyDoc, CallDoc } from '../store/mongo.ts';
import type { Vault } from '../store/vault.ts';
import type { CallFailure, CallPolicy, CallRequest, CallResult, ToolResult } from '../workflows/types.ts';
import { adjust } from './adjustment.ts';
import type { HandOver } from './handOver.ts';
import { persist } from './persist.ts';
import { resultOf } from './workflowResult.ts';

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

/** How a call ended: with a result, which was charged, or with an error of the table, which was not. */
export interface Outcome {
  callId: string;
  /** The request id of the first call with this key; a refusal's body repeats it. */
  requestId: string;
  replayed: boolean;
  /** Credits available when the call ended; null when that was before it was asked for again. */
  available: number | null;
  ending: { result: ToolResult } | { error: ServiceError };
}

/** Who waits for an answer. */
interface Waiting extends Pick<Order, 'hangup'> {
  /** Epoch milliseconds at which the answer is due. */
  until: number;
}

export interface CallRunner {
  run(order: Order): Promise<Outcome>;
}

interface Dependencies {
  client: Client;
  calls: Calls;
  ledger: Ledger;
  accounts: Accounts;
  handOver: HandOver;
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
/** For the result of a call that was charged in the moment in which it was given up, at least, whatever time is left. */
const LAST_LOOK_MS = 3000;
/** Results without an Idempotency-Key are fetched at once or never. */
const RESULT_KEPT_MS = 15 * 60_000;
/** A stored result outlives its key by this, so that a replay that just began can still read it. */
const RESULT_AFTER_KEY_MS = 3_600_000;
/** Calls of one account that may run in one pool at once. */
export const MAX_RUNNING = 64;
const DEFAULT_ATTEMPTS = 3;

const TOOL = defineSearchAttributeKey('Tool', 'KEYWORD');
const ACCOUNT = defineSearchAttributeKey('AccountId', 'KEYWORD');
const FINAL_CODES = Object.keys(ERRORS).filter((code) => isErrorCode(code) && isFinalRefusal(code));

export function policyOf(
  tool: ToolDefinition,
  actsOnWorld: boolean,
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT'>,
): CallPolicy {
  const { workMs, attemptMs = workMs, attempts = DEFAULT_ATTEMPTS } = tool.limits;
  const longest = LONGEST_CALL_MS - OVERHEAD_MS;
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

/** Without a fingerprint nobody can ask for the result again. */
const isRepeatable = ({ idempotency }: CallDoc): boolean => idempotency?.fingerprint != null;

const isCallFailure = (value: unknown): value is CallFailure =>
  typeof value === 'object' && value !== null && 'members' in value && 'available' in value;

export function createCallRunner(deps: Dependencies): CallRunner {
  const { client, calls, ledger, vault, keyring, log } = deps;

  /** Starts the call's workflow unless it was started before; either way the workflow is there afterwards. */
  async function start(request: CallRequest): Promise<void> {
    try {
      await client.workflow.start('callTool', {
        workflowId: request.callId,
        taskQueue: 'orchestrator',
        args: [request],
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
        typedSearchAttributes: [
          { key: TOOL, value: request.policy.tool },
          { key: ACCOUNT, value: request.accountId },
        ],
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }

  const ask = <T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    persist(client, step, signal, (error) =>
      log.warn({ err: error }, 'temporal is not to be reached, trying again'),
    );

  /** The failure that ended the workflow, as the error it stands for. */
  async function asOutcome(
    error: WorkflowFailedError,
    row: CallDoc,
    waiting: Waiting,
  ): Promise<Pick<Outcome, 'ending' | 'available'>> {
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
    // Terminated or failed by other hands than the workflow's own: nobody has settled it.
    return giveUp(row, new ServiceError('internal', { cause: error }), waiting);
  }

  /** Ends the call here and now; the state on record decides, so nothing is charged after this answer. */
  async function giveUp(
    row: CallDoc,
    error: ServiceError,
    { until, hangup }: Waiting,
  ): Promise<Pick<Outcome, 'ending' | 'available'>> {
    log.error({ err: error, callId: row._id, requestId: row.requestId }, 'call given up');
    const { state, available } = await ledger.settle({
      callId: row._id,
      accountId: row.accountId,
      wanted: 'refunded',
      code: error.code,
      release: !row.actsOnWorld,
    });
    if (state !== 'charged') return { available, ending: { error } };
    // It was settled just before: what was paid for is handed over.
    const handle = client.workflow.getHandle<(call: CallRequest) => Promise<CallResult>>(row._id);
    const look = AbortSignal.timeout(Math.max(LAST_LOOK_MS, until - Date.now()));
    try {
      const { result } = await ask(() => resultOf(client, handle, look), look);
      return { available, ending: { result } };
    } catch (fault) {
      if (isRepeatable(row) || hangup.aborted) throw fault;
      log.error({ err: fault, callId: row._id, requestId: row.requestId }, 'charged call given back');
      const reason = `The result of call ${row._id} could not be handed over.`;
      const { accountId, cost: amount } = row;
      await adjust(deps, { accountId, amount, reason, reference: `call ${row._id}` });
      return { available: null, ending: { error } };
    }
  }

  /** Starts the workflow (unless `request` is null: it ended long ago), and waits for its end. */
  async function awaitEnd(
    row: CallDoc,
    request: CallRequest | null,
    waiting: Waiting,
    replayed: boolean,
  ): Promise<Outcome> {
    const { hangup } = waiting;
    const outcome = { callId: row._id, requestId: row.requestId, replayed };
    const deadlineMs = request === null ? OVERHEAD_MS : request.policy.deadlineMs + OVERHEAD_MS;
    const timeout = AbortSignal.timeout(deadlineMs);
    const handle = client.workflow.getHandle<(call: CallRequest) => Promise<CallResult>>(row._id);
    const cancel = () => {
      ask(() => handle.cancel(), timeout).catch((error) => log.warn({ err: error }, 'cancel failed'));
    };
    try {
      if (request !== null) await ask(() => start(request), timeout);
      if (!isRepeatable(row)) {
        if (hangup.aborted) cancel();
        else hangup.addEventListener('abort', cancel, { once: true });
      }
      const { result, available } = await ask(() => resultOf(client, handle, timeout), timeout);
      return { ...outcome, available: request === null ? null : available, ending: { result } };
    } catch (error) {
      if (error instanceof WorkflowFailedError) {
        const ended = await asOutcome(error, row, waiting);
        return { ...outcome, ...ended, available: request === null ? null : ended.available };
      }
      if (request === null) throw error; // a replay: there is nothing left to settle
      const code = timeout.aborted ? 'deadline_exceeded' : 'internal';
      return { ...outcome, ...(await giveUp(row, new ServiceError(code, { cause: error }), waiting)) };
    } finally {
      hangup.removeEventListener('abort', cancel);
    }
  }

  return {
    async run(order) {
      const { accountId, key, tool, input, idempotencyKey, requestId } = order;
      const secrets = secretFields(tool).filter((name) => name in input);
      const hasSecrets = secretFields(tool).length > 0;
      const open = Object.fromEntries(Object.entries(input).filter(([name]) => !secrets.includes(name)));
      const text = hasSecrets ? null : (canonicalize({ tool: tool.name, input }) ?? null);
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
