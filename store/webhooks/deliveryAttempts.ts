import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import type { AttemptContentDoc, DeliveryAttemptDoc, DeliveryDoc } from './webhookDocs.ts';

/** How long requests and responses are kept, in milliseconds. */
const CONTENT_RETENTION_MS = 30 * 24 * 3_600_000;

/** Maximum number of requests and responses that are kept for an account: the newest ones. */
export const MAX_CONTENTS = 1000;

/** Maximum number of attempts that are kept for an account: the newest ones, and those of the last hour. */
const MAX_ATTEMPTS = 10_000;
/** Period of attempts that one run of `deleteOldAttempts` covers: twice the interval of the runs, so that one can be missed. */
const COVERED_MS = 2 * 3_600_000;

export const attemptId = (deliveryId: string, attempt: number): string =>
  `${deliveryId.replace(/^dlv/, 'att')}_${attempt}`;

export interface DeliveryAttempts {
  find(id: string): Promise<DeliveryAttemptDoc | null>;
  /** Stores an attempt; no-op if it is already stored. */
  record(
    attempt: DeliveryAttemptDoc,
    content: Omit<AttemptContentDoc, '_id' | 'accountId' | 'expiresAt'>,
  ): Promise<void>;
  /** Returns the requests and responses that are still kept, by attempt id. */
  contents(ids: readonly string[]): Promise<Map<string, AttemptContentDoc>>;
  /** Returns the newest attempts of a delivery, newest first, at most `limit`. */
  ofDelivery(delivery: Pick<DeliveryDoc, '_id' | 'attempts'>, limit: number): Promise<DeliveryAttemptDoc[]>;
}

export const createDeliveryAttempts = ({ deliveryAttempts, attemptContents }: Store): DeliveryAttempts => ({
  find: (id) => deliveryAttempts.findOne({ _id: id }),

  async record(attempt, content) {
    const expiresAt = new Date(attempt.at.getTime() + CONTENT_RETENTION_MS);
    const { _id, accountId } = attempt;
    await insertAllOnce(attemptContents, [{ ...content, _id, accountId, expiresAt }]);
    const surplus = await attemptContents
      .find({ accountId }, { projection: { _id: 1 } })
      .sort({ expiresAt: -1 })
      .skip(MAX_CONTENTS)
      .toArray();
    if (surplus.length > 0) await attemptContents.deleteMany({ _id: { $in: surplus.map((row) => row._id) } });
    await insertAllOnce(deliveryAttempts, [attempt]);
  },

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
});

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
