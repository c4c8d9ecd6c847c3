import { type CallDoc, isDuplicate, type Store } from './mongo.ts';

/** An Idempotency-Key is kept for a day, counted from the first call with it. */
export const IDEMPOTENCY_MS = 24 * 3_600_000;

/** A call as it is accepted; the rest of its row follows from that. */
export type NewCall = Omit<CallDoc, 'charged' | 'state' | 'code' | 'startedAt' | 'touchedAt' | 'finishedAt'>;

/** The new row, or the earlier call that holds the Idempotency-Key. */
export type Claim = { claimed: true; call: CallDoc } | { claimed: false; call: CallDoc };

export interface Calls {
  /**
   * Writes the row of a new call. With an Idempotency-Key the unique index on (account, key) lets exactly one of any
   * number of equal calls in; the others get the row that was first.
   */
  claim(call: NewCall): Promise<Claim>;
  /** Marks a running call as being (re)started just now. */
  touch(callId: string): Promise<void>;
  /** The call that holds this Idempotency-Key now. */
  findByKey(accountId: string, key: string): Promise<CallDoc | null>;
  find(callId: string): Promise<CallDoc | null>;
}

export function createCalls({ calls }: Store): Calls {
  return {
    async claim(newCall) {
      const now = new Date();
      const call: CallDoc = {
        ...newCall,
        charged: 0,
        state: 'running',
        code: null,
        startedAt: now,
        touchedAt: now,
        finishedAt: null,
      };
      for (;;) {
        try {
          await calls.insertOne(call);
          return { claimed: true, call };
        } catch (error) {
          if (!isDuplicate(error) || call.idempotency === undefined) throw error;
        }
        const { key } = call.idempotency;
        const first = await calls.findOne({ accountId: call.accountId, 'idempotency.key': key });
        if (first === null) continue; // released in between
        if (first.idempotency !== undefined && first.idempotency.expiresAt > now)
          return { claimed: false, call: first };
        await calls.updateOne({ _id: first._id, 'idempotency.key': key }, { $unset: { idempotency: '' } });
      }
    },

    async touch(callId) {
      await calls.updateOne({ _id: callId, state: 'running' }, { $set: { touchedAt: new Date() } });
    },

    find: (callId) => calls.findOne({ _id: callId }),

    findByKey: (accountId, key) =>
      calls.findOne({
        accountId,
        'idempotency.key': key,
        'idempotency.expiresAt': { $gt: new Date() },
      }),
  };
}
