import { inBatches } from '../mongo/inBatches.ts';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import type { AttemptContentDoc, DeliveryAttemptDoc, DeliveryDoc } from './webhookDocs.ts';

/** How long requests and responses are kept, in milliseconds. */
const CONTENT_RETENTION_MS = 30 * 24 * 3_600_000;

/** Number of requests and responses that are kept for an account: the newest ones, and until they are deleted a few more. */
export const MAX_CONTENTS = 1000;
/** A process deletes the surplus of an account with the first attempt of it that it stores, and then after this many more. */
const TRIM_EVERY = 50;

/** Maximum number of attempts that are stored at the same time. Their requests and responses are at most 25 KB each. */
const BATCH = 100;

/** Maximum number of attempts that are kept for an account: the newest ones, and those of the last hour. */
const MAX_ATTEMPTS = 10_000;
/** Period of attempts that one run of `deleteOldAttempts` covers: twice the interval of the runs, so that one can be missed. */
const COVERED_MS = 2 * 3_600_000;

export const attemptId = (deliveryId: string, attempt: number): string =>
  `${deliveryId.replace(/^dlv/, 'att')}_${attempt}`;

/** Request and response of an attempt. */
export type AttemptContent = Omit<AttemptContentDoc, '_id' | 'accountId' | 'expiresAt'>;

export interface DeliveryAttempts {
  find(id: string): Promise<DeliveryAttemptDoc | null>;
  /** Returns those of the attempts that are stored, by id. */
  findAll(ids: readonly string[]): Promise<Map<string, DeliveryAttemptDoc>>;
  /** Stores an attempt; no-op if it is already stored. Those that are stored at the same time share the commands. */
  record(attempt: DeliveryAttemptDoc, content: AttemptContent): Promise<void>;
  /** Returns the requests and responses that are still kept, by attempt id. */
  contents(ids: readonly string[]): Promise<Map<string, AttemptContentDoc>>;
  /** Returns the newest attempts of a delivery, newest first, at most `limit`. */
  ofDelivery(delivery: Pick<DeliveryDoc, '_id' | 'attempts'>, limit: number): Promise<DeliveryAttemptDoc[]>;
}

interface Recorded {
  attempt: DeliveryAttemptDoc;
  content: AttemptContent;
}

/**
 * Stores attempts with their contents. A stored attempt has its content, unless newer ones have replaced that.
 *
 * @param untrimmed number of contents that this process has stored since it last deleted the surplus, by account
 */
async function storeAttempts(
  { deliveryAttempts, attemptContents }: Store,
  untrimmed: Map<string, number>,
  recorded: readonly Recorded[],
): Promise<void> {
  await insertAllOnce(
    attemptContents,
    recorded.map(({ content, attempt: { _id, accountId, at } }) => ({
      ...content,
      _id,
      accountId,
      expiresAt: new Date(at.getTime() + CONTENT_RETENTION_MS),
    })),
  );
  const surplusOf = (accountId: string) =>
    attemptContents
      .find({ accountId }, { projection: { _id: 1 } })
      .sort({ expiresAt: -1 })
      .skip(MAX_CONTENTS)
      .toArray();
  const stored = Map.groupBy(recorded, ({ attempt }) => attempt.accountId);
  for (const [accountId, own] of stored)
    untrimmed.set(accountId, (untrimmed.get(accountId) ?? TRIM_EVERY) + own.length);
  const full = [...stored.keys()].filter((accountId) => (untrimmed.get(accountId) ?? 0) > TRIM_EVERY);
  const surplus = (await Promise.all(full.map(surplusOf))).flat();
  if (surplus.length > 0) await attemptContents.deleteMany({ _id: { $in: surplus.map(({ _id }) => _id) } });
  for (const accountId of full) untrimmed.set(accountId, 0);
  await insertAllOnce(
    deliveryAttempts,
    recorded.map(({ attempt }) => attempt),
  );
}

export function createDeliveryAttempts(store: Store): DeliveryAttempts {
  const { deliveryAttempts, attemptContents } = store;
  const untrimmed = new Map<string, number>();
  const record = inBatches<Recorded>((recorded) => storeAttempts(store, untrimmed, recorded), BATCH);
  return {
    find: (id) => deliveryAttempts.findOne({ _id: id }),

    async findAll(ids) {
      const rows = await deliveryAttempts.find({ _id: { $in: [...ids] } }).toArray();
      return new Map(rows.map((row) => [row._id, row]));
    },

    record: (attempt, content) => record({ attempt, content }),

    async contents(ids) {
      const rows = await attemptContents.find({ _id: { $in: [...ids] } }).toArray();
      return new Map(rows.map((row) => [row._id, row]));
    },

    ofDelivery({ _id, attempts }, limit) {
      // An attempt that has just ended may not be counted yet.
      const newest = attempts + 1;
      const ids = Array.from({ length: Math.min(limit, newest) }, (_, i) => attemptId(_id, newest - i));
      return deliveryAttempts
        .find({ _id: { $in: ids } })
        .sort({ attempt: -1 })
        .toArray();
    },
  };
}

/**
 * Deletes the oldest attempts, above `MAX_ATTEMPTS`, of the accounts that had attempts in the last two hours. Must run every
 * hour.
 *
 * @param most maximum number of attempts that an account keeps
 */
export async function deleteOldAttempts(
  { deliveryAttempts, attemptContents }: Store,
  most = MAX_ATTEMPTS,
): Promise<void> {
  const recent = new Date(Date.now() - COVERED_MS + CONTENT_RETENTION_MS);
  // Every recent attempt has a document here, unless those of newer attempts of the account have replaced it.
  const accountIds = await attemptContents.distinct('accountId', { expiresAt: { $gte: recent } });
  for (const accountId of accountIds) {
    if (accountId === undefined) continue;
    const [newestSurplus] = await deliveryAttempts
      .find({ accountId }, { projection: { at: 1 } })
      .sort({ at: -1 })
      .skip(most)
      .limit(1)
      .toArray();
    if (newestSurplus !== undefined)
      await deliveryAttempts.deleteMany({ accountId, at: { $lte: newestSurplus.at } });
  }
}
