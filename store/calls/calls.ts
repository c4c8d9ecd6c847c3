import { isDuplicate, type Store } from '../mongo/mongo.ts';
import { type CallDoc, UNCHARGED_SECONDS } from './callDocs.ts';

/** How long an Idempotency-Key is kept after the start of the first call that used it. */
export const IDEMPOTENCY_MS = 24 * 3_600_000;

/** Fields of an accepted call; `claim` sets the others. */
type NewCall = Omit<
  CallDoc,
  'charged' | 'state' | 'code' | 'startedAt' | 'touchedAt' | 'finishedAt' | 'deleteAt'
>;

/** The new call, or the earlier call that holds the Idempotency-Key. */
type Claim = { claimed: true; call: CallDoc } | { claimed: false; call: CallDoc };

export interface Calls {
  /**
   * Inserts a new call. The unique index on account and Idempotency-Key admits exactly one of concurrent calls with
   * the same key; the others get the call that was inserted. Idempotent: if the call itself was inserted by an earlier
   * attempt, it is claimed.
   */
  claim(call: NewCall): Promise<Claim>;
  /** Inserts, as `claim` does, a call that has ended at once with the result of an earlier call (`reused`). */
  claimAnswered(call: NewCall, startedAt: Date): Promise<Claim>;
  /** Inserts calls without an Idempotency-Key. Can be repeated. */
  claimAll(calls: readonly NewCall[]): Promise<void>;
  /** Records that the workflow of a running call is being started or restarted. */
  touch(callId: string): Promise<void>;
  /** Finds the call that holds this Idempotency-Key. */
  findByKey(accountId: string, key: string): Promise<CallDoc | null>;
  find(callId: string): Promise<CallDoc | null>;
}

/** Uses MongoDB's clock: with a future time of an API process, the sweeper would not end the call until that time. */
const TOUCH = { $currentDate: { touchedAt: true } } as const;

/** The document of a new call, without the field that `TOUCH` sets. */
const runningCall = (newCall: NewCall, startedAt: Date) =>
  ({ ...newCall, charged: 0, state: 'running', code: null, startedAt, finishedAt: null }) as const;

/**
 * Does not wait until the write is durable: the reservation waits for that, later in the same journal, and finds no call if MongoDB
 * has lost it. Then nothing is charged.
 */
const NOT_YET_DURABLE = { writeConcern: { w: 1, journal: false } } as const;

export function createCalls({ calls }: Store): Calls {
  async function insert(row: Omit<CallDoc, 'touchedAt'>, concern = {}): Promise<Claim> {
    const now = new Date();
    const { _id, accountId, idempotency } = row;
    for (;;) {
      try {
        const call = await calls.findOneAndUpdate(
          { _id },
          { $setOnInsert: row, ...TOUCH },
          { upsert: true, returnDocument: 'after', ...concern },
        );
        if (call === null) throw new Error(`call ${_id} was not inserted`);
        return { claimed: true, call };
      } catch (error) {
        if (!isDuplicate(error) || idempotency === undefined) throw error;
      }
      const { key } = idempotency;
      const first = await calls.findOne({ accountId, 'idempotency.key': key });
      if (first === null) continue; // The key was released in the meantime.
      if (first.idempotency !== undefined && first.idempotency.expiresAt > now)
        return { claimed: false, call: first };
      await calls.updateOne({ _id: first._id, 'idempotency.key': key }, { $unset: { idempotency: '' } });
    }
  }

  return {
    claim: (newCall) =>
      // Another request with the same Idempotency-Key must find the call also after MongoDB has failed.
      insert(runningCall(newCall, new Date()), newCall.idempotency === undefined ? NOT_YET_DURABLE : {}),

    claimAnswered(newCall, startedAt) {
      const finishedAt = new Date();
      const deleteAt = new Date(finishedAt.getTime() + UNCHARGED_SECONDS * 1000);
      return insert({ ...runningCall(newCall, startedAt), state: 'charged', finishedAt, deleteAt });
    },

    async claimAll(newCalls) {
      if (newCalls.length === 0) return;
      const now = new Date();
      await calls.bulkWrite(
        newCalls.map((newCall) => ({
          updateOne: {
            filter: { _id: newCall._id },
            update: { $setOnInsert: runningCall(newCall, now), ...TOUCH },
            upsert: true,
          },
        })),
        { ordered: false },
      );
    },

    async touch(callId) {
      await calls.updateOne({ _id: callId, state: 'running' }, TOUCH);
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
