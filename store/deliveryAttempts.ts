import { insertAllOnce, type Store } from './mongo.ts';
import type { DeliveryAttemptDoc } from './webhookDocs.ts';

/** How long response bodies are kept, in milliseconds. The attempts themselves are never deleted. */
const BODY_RETENTION_MS = 30 * 24 * 3_600_000;

/** Id of an attempt, from the id of its delivery and its number. */
export const attemptId = (deliveryId: string, attempt: number): string =>
  `${deliveryId.replace(/^dlv/, 'att')}_${attempt}`;

export interface DeliveryAttempts {
  find(id: string): Promise<DeliveryAttemptDoc | null>;
  /** Stores an attempt; no-op if it is already stored. */
  record(attempt: DeliveryAttemptDoc, responseBody: string | null): Promise<void>;
  /** Returns the response bodies that are still kept, by attempt id. */
  bodies(ids: readonly string[]): Promise<Map<string, string>>;
}

export const createDeliveryAttempts = ({ deliveryAttempts, responseBodies }: Store): DeliveryAttempts => ({
  find: (id) => deliveryAttempts.findOne({ _id: id }),

  async record(attempt, responseBody) {
    if (responseBody !== null)
      await insertAllOnce(responseBodies, [
        {
          _id: attempt._id,
          body: responseBody,
          expiresAt: new Date(attempt.at.getTime() + BODY_RETENTION_MS),
        },
      ]);
    await insertAllOnce(deliveryAttempts, [attempt]);
  },

  async bodies(ids) {
    const rows = await responseBodies.find({ _id: { $in: [...ids] } }).toArray();
    return new Map(rows.map(({ _id, body }) => [_id, body]));
  },
});
