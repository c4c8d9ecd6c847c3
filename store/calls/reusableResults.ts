import { setTimeout as sleep } from 'node:timers/promises';
import canonicalize from 'canonicalize';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { RateLimit } from '../../schemas/envValues.ts';
import { MAX_AGE_HOURS } from '../../schemas/formats/maxAge.ts';
import type { StoredLink } from '../files/links.ts';
import { findLiveCall } from '../files/liveCall.ts';
import { countEvent, createCounter } from '../mongo/counters.ts';
import type { Store } from '../mongo/mongo.ts';
import { createStorageLimit } from '../mongo/storageLimit.ts';
import type { Reuse, ReusedResult } from './callDocs.ts';
import { keepStored, type ResultReference, type Results } from './results.ts';

/** A result that answers a call. */
export interface FoundResult extends ReusedResult {
  /** Size of the result in bytes. */
  bytes: number;
  /** Reads the output as JSON. @throws ResultGone if it has expired in the meantime */
  read(): Promise<Buffer>;
}

/** A result that is to answer later calls. */
interface NewResult {
  accountId: string;
  callId: string;
  /** The result as it is stored, or its output as JSON, if it is small and part of a workflow. */
  result: { stored: ResultReference } | { output: string | Buffer };
  /** Size of the result in bytes. */
  bytes: number;
  /** The file that the output has the address of, if it has one. */
  linked?: Pick<StoredLink, 'expiresAt'> | undefined;
}

/** The results of calls with `maxAge`, which answer later calls of the same account with the same input. */
export interface ReusableResults {
  /**
   * Returns the latest result that is not too old. Waits up to a second while its own response is being sent: it counts only if
   * the call that made it is paid for good. After `REUSES` answers in a day, there is none.
   */
  find(accountId: string, reuse: Reuse): Promise<FoundResult | null>;
  /** Keeps the result of a charged call, in place of an earlier one. No-op if the account or the installation keeps too much. */
  keep(reuse: Reuse, result: NewResult): Promise<void>;
}

/** Maximum size in KB of the results of one account and of all that are kept within `MAX_AGE_HOURS`. */
export const REUSABLE_KB = { account: 256 * 1024, installation: 10 * 1024 * 1024 } as const;
/** Maximum number of calls of an account that are answered in a day. Each leaves a row in the list of calls, and costs nothing. */
export const REUSES = { max: 50_000, seconds: 24 * 3600, name: 'reused' } as const;
/** Result pieces are kept this much longer, for a reader who has found them just before. */
const READ_MS = 120_000;
/** How long before the address of its file ends a result is no longer returned. */
const LINK_LEFT_MS = 3_600_000;
const WAIT_MS = 1000;
const POLL_MS = 50;

/**
 * Returns what a call accepts instead of a new result; null if its input has no `maxAge`.
 *
 * @param input validated, with defaults applied
 */
export function reuseOf(
  keyring: Pick<Keyring, 'mac'>,
  accountId: string,
  tool: string,
  { maxAge, ...input }: Record<string, unknown>,
): Reuse | null {
  if (typeof maxAge !== 'number') return null;
  const canonical = canonicalize({ accountId, tool, input });
  return canonical === undefined ? null : { key: keyring.mac('reuse', canonical), maxAge };
}

/** @param limit null disables the limits on what is kept */
export function createReusableResults(
  store: Store,
  results: Results,
  limit: RateLimit | null,
): ReusableResults {
  const { reusableResults } = store;
  const storage = createStorageLimit(store, limit, {
    name: 'kept-reusable',
    kb: REUSABLE_KB,
    hours: MAX_AGE_HOURS,
  });

  const reuses = limit === null ? null : createCounter(store, REUSES);

  /** Whether a call stays charged, or `null` while that is open because its response is being sent. */
  async function isPaid(callId: string): Promise<boolean | null> {
    const call = await findLiveCall(store, callId);
    if (call === null) return false;
    return call.pendingAnswer === undefined ? true : null;
  }

  return {
    async find(accountId, { key, maxAge }) {
      const until = performance.now() + WAIT_MS;
      for (;;) {
        const now = Date.now();
        const row = await reusableResults.findOne({
          _id: key,
          accountId,
          madeAt: { $gte: new Date(now - maxAge * 1000) },
          expiresAt: { $gt: new Date(now) },
        });
        if (row === null) return null;
        const { callId, madeAt, bytes, content } = row;
        const paid = await isPaid(callId);
        if (paid === false || (paid === null && performance.now() >= until)) return null;
        if (paid === true) {
          if (reuses !== null && (await countEvent(reuses, accountId)) !== null) return null;
          return { callId, madeAt, bytes, read: () => results.read(callId, content) };
        }
        await sleep(POLL_MS);
      }
    },

    async keep({ key, maxAge }, { accountId, callId, result, bytes, linked }) {
      if ((await storage.isFull(accountId)) !== null) return;
      const madeAt = new Date();
      const usableUntil = linked === undefined ? Number.POSITIVE_INFINITY : linked.expiresAt - LINK_LEFT_MS;
      const expiresAt = new Date(Math.min(madeAt.getTime() + maxAge * 1000, usableUntil));
      const keptUntil = new Date(expiresAt.getTime() + READ_MS);
      if ('stored' in result) await keepStored(store, result.stored, keptUntil);
      const content =
        'stored' in result
          ? result.stored
          : await results.write(callId, Buffer.from(result.output), keptUntil);
      await reusableResults.replaceOne(
        { _id: key },
        { accountId, callId, content, bytes, madeAt, expiresAt },
        { upsert: true },
      );
      await storage.add(accountId, bytes);
    },
  };
}
