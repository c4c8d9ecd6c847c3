import { randomUUID } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Logger } from 'pino';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Env } from '../../schemas/env.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { fileIdOf, fileNotFound } from '../../schemas/formats/fileSource.ts';
import { secretFields } from '../../schemas/tool.ts';
import type { CallDoc, PendingAnswer } from '../../store/calls/callDocs.ts';
import { LONGEST_CALL_MS, policyOf } from '../../store/calls/callPolicy.ts';
import { type Calls, IDEMPOTENCY_MS } from '../../store/calls/calls.ts';
import type { PendingAnswers } from '../../store/calls/pendingAnswers.ts';
import type { Results } from '../../store/calls/results.ts';
import type { FoundResult } from '../../store/calls/reusableResults.ts';
import type { FileReference, Files } from '../../store/files/files.ts';
import { budgetOf } from '../../store/ledger/keySpend.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import { startDigests } from '../../store/receipts/digests.ts';
import type { ReceiptKeys } from '../../store/receipts/receiptKeys.ts';
import type { CallRequest } from '../../workflows/types.ts';
import { comparedInput, type ToolCall } from './toolCall.ts';

/** A call of one request, with what its steps derive from it. */
export interface Run {
  call: ToolCall;
  /** When the checks of the request had ended, as `performance.now()`. */
  since: number;
  /** When the response is due, as `performance.now()`, which changes of the system clock do not affect. */
  deadline: number;
  /** Tool and input in canonical form, with which a later request with the Idempotency-Key is compared; null: not compared. */
  canonical: string | null;
  /** Names of the secret fields in the input. */
  secrets: readonly string[];
  actsOnWorld: boolean;
}

/** A call that is recorded in MongoDB: by this request, or by an earlier one with the same Idempotency-Key. */
export interface Recorded extends Run {
  row: CallDoc;
  replayed: boolean;
  /** Null if the call has ended, so that only its result is read. */
  start: Start | null;
}

/** Parameters of the start of a call's workflow. */
export interface Start {
  request: CallRequest;
  /** Number of calls of the account that this process runs in the pool, including this one. */
  running: number;
  /** Called when the workflow has been started. */
  onStart?: (() => void) | undefined;
}

/** Records calls in MongoDB, which decides which request with an Idempotency-Key starts the call. */
interface CallRecords {
  /** Returns the earlier call with the Idempotency-Key; null if there is none or the request has no key. */
  findEarlier(run: Run): Promise<CallDoc | null>;
  /**
   * Returns the earlier call with the Idempotency-Key, if it has the same input. The workflow of a running call is started
   * again, which changes nothing unless the process that recorded the call was killed before.
   *
   * @throws ServiceError idempotency_key_used, idempotency_key_mismatch
   */
  replay(run: Run, row: CallDoc): Promise<Recorded>;
  /**
   * Records the call, or replays the one that was recorded with its Idempotency-Key in the meantime. @throws ServiceError not_found if
   * the account has no such file as the input names
   */
  claim(run: Run, running: number): Promise<Recorded>;
  /** Records a call that is answered with the result of an earlier one, or replays, as `claim` does. @param output the result */
  claimAnswered(run: Run, found: FoundResult, output: Buffer): Promise<Recorded>;
}

interface Dependencies {
  calls: Calls;
  results: Pick<Results, 'write'>;
  answers: PendingAnswers;
  files: Pick<Files, 'reference'>;
  publicUrl(): string;
  keyring: Keyring;
  receiptKeys: Pick<ReceiptKeys, 'digestKeysOf'>;
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT' | 'CALLS_PER_POOL'>;
  log: Logger;
}

/**
 * How long the result of a call without an Idempotency-Key is kept; it is not read again after the first response.
 */
export const RESULT_KEPT_MS = 15 * 60_000;
/**
 * How long a stored result is kept after its Idempotency-Key expires, so that a replay that has begun can still read
 * it.
 */
const RESULT_AFTER_KEY_MS = 3_600_000;

/** Derives from a request what the steps of its call need. */
export function begin(call: ToolCall): Run {
  const { tool, input, idempotencyKey } = call;
  const since = performance.now();
  // Only requests with an Idempotency-Key are compared. Canonicalizing an input of 5 MB takes tens of milliseconds.
  const isCompared = idempotencyKey !== null && secretFields(tool).length === 0;
  return {
    call,
    since,
    deadline: since + LONGEST_CALL_MS,
    canonical: isCompared ? (canonicalize({ tool: tool.name, input: comparedInput(call) }) ?? null) : null,
    secrets: secretFields(tool).filter((name) => name in input),
    actsOnWorld: tool.actsOnWorld?.(input) ?? false,
  };
}

/**
 * Whether the caller can request the result again. Calls from the dashboard cannot be replayed, because the dashboard does
 * not show the idempotency key of a form.
 */
export const canReplay = ({ call: { caller, idempotencyKey }, canonical }: Run): boolean =>
  caller.key !== null && idempotencyKey !== null && canonical !== null;

/** Until when the result of a call with an Idempotency-Key is kept. */
const keptUntil = (keyExpiresAt: Date): Date => new Date(keyExpiresAt.getTime() + RESULT_AFTER_KEY_MS);

/** The input without its secret fields. */
export const openInput = ({ call: { input }, secrets }: Run): Record<string, unknown> =>
  Object.fromEntries(Object.entries(input).filter(([name]) => !secrets.includes(name)));

export function createCallRecords(deps: Dependencies): CallRecords {
  const { calls, answers, files, publicUrl, keyring, receiptKeys, limits, log } = deps;

  /** The fields that every new call has. */
  function newCallOf({ call, canonical, actsOnWorld }: Run) {
    const { caller, tool, idempotencyKey, requestId, formId } = call;
    const { key, account } = caller;
    return {
      _id: randomUUID(),
      accountId: account._id,
      keyId: key?._id ?? null,
      keyPrefix: key?.prefix ?? null,
      tool: tool.name,
      cost: tool.price,
      requestId,
      actsOnWorld,
      ...(formId !== undefined && { formId }),
      ...(idempotencyKey !== null && {
        idempotency: {
          key: idempotencyKey,
          fingerprint: canonical === null ? null : keyring.mac('fingerprint', canonical),
          expiresAt: new Date(Date.now() + IDEMPOTENCY_MS),
        },
      }),
    };
  }

  async function findEarlier({ call: { caller, idempotencyKey } }: Run): Promise<CallDoc | null> {
    if (idempotencyKey === null) return null;
    return retryStore(() => calls.findByKey(caller.account._id, idempotencyKey));
  }

  /** Returns the uploaded file that the input names, of the account of the call; null if there is none. */
  async function findFile({ call: { caller, tool, input } }: Run): Promise<FileReference | null> {
    const id = fileIdOf(tool, input);
    return id === null ? null : retryStore(() => files.reference(caller.account._id, id));
  }

  async function replay(run: Run, row: CallDoc): Promise<Recorded> {
    const known = row.idempotency?.fingerprint ?? null;
    if (known === null || run.canonical === null) throw new ServiceError('idempotency_key_used');
    if (keyring.mac('fingerprint', run.canonical, known.slice(0, known.indexOf(':'))) !== known)
      throw new ServiceError('idempotency_key_mismatch');
    const replayed = true;
    // A form of the dashboard was submitted twice: this request takes over answering the call.
    const pendingAnswer = row.pendingAnswer === undefined ? undefined : answers.fresh();
    if (pendingAnswer !== undefined && !(await adopt(row._id, pendingAnswer))) {
      const { pendingAnswer: pending, ...now } = (await calls.find(row._id)) ?? row;
      if (pending !== undefined || now.idempotency === undefined)
        throw new ServiceError('internal', { cause: new Error(`call ${row._id} is being refunded`) });
      return { ...run, row: now, replayed, start: null };
    }
    const current = { ...row, ...(pendingAnswer !== undefined && { pendingAnswer }) };
    if (row.state !== 'running') return { ...run, row: current, replayed, start: null };
    // A mark that cannot be written is repeated while the workflow is being started.
    await calls.touch(row._id).catch(() => undefined);
    // If the file was deleted in the meantime, the workflow that has been started knows it.
    const start = { request: requestOf(run, row, 0, await findFile(run)), running: 1 };
    return { ...run, row: current, replayed, start };
  }

  /** Takes over answering a call. @throws if MongoDB is unavailable; the call is then refunded, if it was taken over */
  async function adopt(callId: string, pending: PendingAnswer): Promise<boolean> {
    try {
      return await retryStore(() => answers.adopt(callId, pending));
    } catch (error) {
      answers
        .lost(callId, pending)
        .catch((fault) => log.warn({ err: fault, callId }, 'could not give up a call that was taken over'));
      throw error;
    }
  }

  async function claim(run: Run, running: number): Promise<Recorded> {
    const { tool, input, arrivedAt } = run.call;
    const file = await findFile(run);
    if (file === null && fileIdOf(tool, input) !== null) throw fileNotFound();
    const pending = canReplay(run) ? {} : { pendingAnswer: answers.fresh() };
    const newCall = {
      ...newCallOf(run),
      timing: {
        accept: Math.round(run.since - arrivedAt),
        queue: Math.round(performance.now() - run.since),
      },
      ...pending,
    };
    const { claimed, call } = await retryStore(() => calls.claim(newCall));
    if (!claimed) return replay(run, call);
    // If MongoDB's answer to an earlier attempt was lost, the call may have the response of another request by now.
    const row = { ...call, ...pending };
    const request = requestOf(run, row, Math.round(performance.now() - run.since), file);
    return { ...run, row, replayed: false, start: { request, running, onStart: run.call.onStart } };
  }

  async function claimAnswered(run: Run, { callId, madeAt }: FoundResult, output: Buffer): Promise<Recorded> {
    const startedAt = new Date(Date.now() - Math.round(performance.now() - run.since));
    const newCall = newCallOf(run);
    const { _id, idempotency } = newCall;
    const digest = await startDigests(receiptKeys.digestKeysOf(_id), openInput(run));
    const digests = await digest(output);
    // The result of the earlier call can be gone before the key is.
    const copy =
      idempotency === undefined
        ? undefined
        : await retryStore(() =>
            deps.results.write(_id, output, keptUntil(idempotency.expiresAt), `${_id}:reused`),
          );
    const answered = {
      ...newCall,
      cost: 0,
      ...(digests !== undefined && { digests }),
      reused: { callId, madeAt, ...(copy !== undefined && { copy }) },
    };
    const { claimed, call } = await retryStore(() => calls.claimAnswered(answered, startedAt));
    return claimed ? { ...run, row: call, replayed: false, start: null } : replay(run, call);
  }

  /** @param waitedMs milliseconds that the call has waited for its slot */
  function requestOf(run: Run, row: CallDoc, waitedMs: number, file: FileReference | null): CallRequest {
    const { key, account } = run.call.caller;
    const resultExpiresAt =
      row.idempotency === undefined
        ? new Date(Date.now() + RESULT_KEPT_MS)
        : keptUntil(row.idempotency.expiresAt);
    return {
      callId: row._id,
      accountId: account._id,
      requestId: row.requestId,
      policy: policyOf(run.call.tool, run.actsOnWorld, limits, waitedMs),
      input: openInput(run),
      ...(file !== null && { file }),
      ...(run.call.input.output === 'link' && { baseUrl: publicUrl() }),
      vault: null,
      // The budget of the key whose request starts the workflow counts, also if another key claimed the call.
      ...(key !== null && { key: budgetOf(key) }),
      digestKeys: receiptKeys.digestKeysOf(row._id),
      resultExpiresAt: resultExpiresAt.toISOString(),
    };
  }

  return { findEarlier, replay, claim, claimAnswered };
}
