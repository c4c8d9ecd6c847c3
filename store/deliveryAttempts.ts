import { insertAllOnce, type Store } from './mongo.ts';
import type { DeliveryAttemptDoc } from './webhookDocs.ts';

/** Rows of attempts stay; what receivers answered goes after this. */
const BODY_KEPT_MS = 30 * 24 * 3_600_000;

/** The id of a delivery's attempt number so and so. */
export const attemptId = (deliveryId: string, attempt: number): string =>
  `${deliveryId.replace(/^dlv/, 'att')}_${attempt}`;

export interface DeliveryAttempts {
  find(id: string): Promise<DeliveryAttemptDoc | null>;
  /** Once; a second time changes nothing. */
  record(attempt: DeliveryAttemptDoc, responseBody: string | null): Promise<void>;
  /** What receivers answered, by the ids of the attempts, as far as it is still kept. */
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
          expiresAt: new Date(attempt.at.getTime() + BODY_KEPT_MS),
        },
      ]);
    await insertAllOnce(deliveryAttempts, [attempt]);
  },

  async bodies(ids) {
    const rows = await responseBodies.find({ _id: { $in: [...ids] } }).toArray();
    return new Map(rows.map(({ _id, body }) => [_id, body]));
  },
});
