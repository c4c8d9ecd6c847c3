import type { Logger } from 'pino';
import type { RateLimit } from '../../schemas/envValues.ts';
import { ERRORS, type ErrorCode } from '../../schemas/errors.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { expireStored, type ResultReference } from '../../store/calls/results.ts';
import { createUnchargedCalls } from '../../store/calls/unchargedCalls.ts';
import { keepLinked, type StoredLink } from '../../store/files/links.ts';
import { createCounter } from '../../store/mongo/counters.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { retryStore } from '../../store/mongo/retryStore.ts';
import { TRIAL_ACCOUNT } from '../trial/trialAccount.ts';
import type { CallWorkflow } from './callWorkflow.ts';

/** Number of calls of an account without a charge in a day whose histories stay in Temporal if their Idempotency-Keys stay in use. */
const KEPT_HISTORIES = 500;
const KB = 1024;
/** Maximum size in KB of the results that are kept for replays, of one account and of all, in the time of a key. */
export const KEPT_KB = { account: 1024 * 1024, installation: 50 * 1024 * 1024 } as const;
/** How long a result is kept for its Idempotency-Key: 24 h, and one hour for replays that have begun. */
const KEPT_SECONDS = 25 * 3600;
/** How long a result above the limit is kept, so that a caller whose connection broke can fetch it. */
const SHORT_MS = 15 * 60_000;
const INSTALLATION = 'all';

/** Bounds what calls leave in MongoDB and Temporal after their end. Faults are logged. */
export interface Retention {
  /**
   * Called when the workflow of a call has ended with an error. Deletes its history from Temporal and counts the call;
   * an account with too many such calls may make no new ones until the window ends.
   */
  uncharged(call: Pick<CallDoc, '_id' | 'accountId'>, code: ErrorCode): Promise<void>;
  /**
   * Counts a stored result that waits for a replay with its Idempotency-Key and has just been read for the first time. Above
   * the limits it expires after 15 minutes; a later replay fails with `idempotency_key_used`.
   *
   * @param bytes size of the result
   */
  stored(accountId: string, result: ResultReference, bytes: number): Promise<void>;
  /**
   * Keeps the file that a charged call links until its address ends, and counts it like a stored result. Above the limits it ends
   * `UNSEEN_MS` after it was stored. Can be repeated.
   */
  linked(accountId: string, file: StoredLink): Promise<void>;
  /** Waits until the files are kept whose responses have ended. */
  close(): Promise<void>;
}

interface Dependencies {
  workflow: Pick<CallWorkflow, 'deleteHistory'>;
  store: Store;
  /** Null disables the limits. Histories are deleted all the same. */
  limit: RateLimit | null;
  log: Pick<Logger, 'warn'>;
}

/** Whether an error is due to the service, so that it neither counts nor leaves Temporal before an operator has seen it. */
const isOurFault = (code: ErrorCode): boolean => code === 'internal';

export function createRetention({ workflow, store, limit, log }: Dependencies): Retention {
  const unchargedCalls = createUnchargedCalls(store, limit, (paused) =>
    log.warn(paused, 'too many calls without a charge; the account is paused'),
  );
  const counter = (name: string, max: number, seconds: number) =>
    createCounter(store, { name, max, seconds });
  const counters =
    limit === null
      ? null
      : {
          keptOfAccount: counter('kept-results', KEPT_KB.account, KEPT_SECONDS),
          keptOfAll: counter('kept-results-of', KEPT_KB.installation, KEPT_SECONDS),
        };

  const keeping = new Set<Promise<void>>();

  async function endUncharged(callId: string, accountId: string, code: ErrorCode): Promise<void> {
    // A lack of workers is not the caller's fault, and the trial account is shared by all visitors.
    const isCounted = ERRORS[code].status !== 503 && accountId !== TRIAL_ACCOUNT;
    const calls = isCounted ? await unchargedCalls.count(accountId) : 0;
    const row = await store.calls.findOne({ _id: callId }, { projection: { idempotency: 1 } });
    // The history contains the error that a replay repeats.
    if (row?.idempotency === undefined || calls > KEPT_HISTORIES) await workflow.deleteHistory(callId);
  }

  /**
   * Counts bytes that are to be kept. @returns false above the limits: they are then not counted, so that an account at its limit
   * takes nothing from the others
   */
  async function count(accountId: string, bytes: number): Promise<boolean> {
    if (counters === null) return true;
    const size = Math.ceil(bytes / KB);
    const [own, all] = await Promise.all([
      counters.keptOfAccount.penalty(accountId, size),
      counters.keptOfAll.penalty(INSTALLATION, size),
    ]);
    if (own.consumedPoints <= KEPT_KB.account && all.consumedPoints <= KEPT_KB.installation) return true;
    await Promise.all([
      counters.keptOfAccount.reward(accountId, size),
      counters.keptOfAll.reward(INSTALLATION, size),
    ]);
    return false;
  }

  async function countStored(accountId: string, result: ResultReference, bytes: number): Promise<void> {
    if (!(await count(accountId, bytes))) await expireStored(store, result, new Date(Date.now() + SHORT_MS));
  }

  return {
    async uncharged({ _id: callId, accountId }, code) {
      if (isOurFault(code)) return;
      await endUncharged(callId, accountId, code).catch((error) =>
        log.warn({ err: error, callId }, 'could not delete the history of a call that was not charged'),
      );
    },

    stored: (accountId, result, bytes) =>
      countStored(accountId, result, bytes).catch((error) =>
        log.warn({ err: error, accountId }, 'could not count a stored result'),
      ),

    async linked(accountId, file) {
      const work = retryStore(() => keepLinked(store, file, (bytes) => count(accountId, bytes))).catch(
        (error) => log.warn({ err: error, accountId }, 'could not keep the file of a call'),
      );
      keeping.add(work);
      await work;
      keeping.delete(work);
    },

    close: async () => void (await Promise.all(keeping)),
  };
}
