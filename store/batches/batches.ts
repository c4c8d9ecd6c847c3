import {
  BATCH_HOURS,
  BATCH_KEPT_HOURS,
  BATCH_STATES,
  type BatchState,
  MAX_OPEN_BATCHES,
  type PauseReason,
} from '../../schemas/batches.ts';
import { IDEMPOTENCY_MS } from '../calls/calls.ts';
import { OPEN_JOBS } from '../jobs/jobs.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import { storeCallback } from './batchCallbacks.ts';
import type { BatchDoc } from './batchDocs.ts';

const HOUR_MS = 3_600_000;
export const BATCH_MS = BATCH_HOURS * HOUR_MS;
export const BATCH_KEPT_MS = BATCH_KEPT_HOURS * HOUR_MS;
/** How long documents of batches and rows are kept from their creation: until the end of the longest batch can no longer be read. */
export const STORED_MS = BATCH_MS + BATCH_KEPT_MS + HOUR_MS;

/** A batch that a request creates. */
export type NewBatch = Pick<
  BatchDoc,
  '_id' | 'accountId' | 'keyId' | 'keyPrefix' | 'requestId' | 'createdAt' | 'baseUrl' | 'scheduleId'
>;

/** What is known of a batch when all of its rows have been checked. */
export type CheckedBatch = Pick<
  BatchDoc,
  | 'rows'
  | 'totalCredits'
  | 'tools'
  | 'pools'
  | 'maxCredits'
  | 'order'
  | 'onEmptyBalance'
  | 'metadata'
  | 'callbackUrl'
  | 'body'
> & {
  idempotency: { key: string; fingerprint: string } | null;
  /** Whether it is paused until `resume` starts it. */
  waitsForStart: boolean;
};

/** Selects batches of an account. `tools`: only batches whose rows call no others; null: all. */
interface BatchFilter {
  state?: BatchState | undefined;
  tools: readonly string[] | null;
}

/** The batches of accounts. Each change of state is one conditional update. */
export interface Batches {
  /** Inserts a batch that nobody sees until it is opened. */
  create(batch: NewBatch): Promise<void>;
  /** Lets a batch run, or wait for its start. Can be repeated. @returns null if another batch has its Idempotency-Key, or it is gone */
  open(id: string, batch: CheckedBatch): Promise<BatchDoc | null>;
  findByKey(accountId: string, key: string): Promise<BatchDoc | null>;
  find(accountId: string, id: string): Promise<BatchDoc | null>;
  list(accountId: string, filter: BatchFilter, page: PageRequest): Promise<Page<BatchDoc>>;
  /** Whether the account has as many batches that have not ended as it may. */
  isFull(accountId: string): Promise<boolean>;
  /** Returns the batches of an account that have not ended, the oldest first. */
  openOf(accountId: string): Promise<BatchDoc[]>;
  /** Pauses a batch that runs. @param neededCredits credits with which it continues by itself; null: it does not */
  pause(id: string, reason: PauseReason, neededCredits: number | null): Promise<void>;
  /** Continues a batch that is paused. @param maxCredits a new limit; undefined: it stays */
  resume(id: string, maxCredits?: number | null): Promise<void>;
  /** Lets a batch end when its running rows have ended. */
  cancel(id: string): Promise<void>;
  /** Ends a batch if none of its rows waits or runs and all are counted: the sums must say so. Can be repeated. */
  end(batch: Pick<BatchDoc, '_id' | 'accountId' | 'scheduleId'>): Promise<void>;
}

/** The states in which a batch has not ended. */
const OPEN: readonly BatchState[] = ['running', 'paused', 'cancelling'];
/** Number of rows that have ended and are counted. */
const ENDED = { $add: ['$charged', '$refused', '$cancelled'] };
/** Selects batches that have been opened. */
const VISIBLE = { $in: [...BATCH_STATES] };

/** @param onCallback starts the delivery of a callback that was stored; the sweeper starts it too */
export function createBatches(
  store: Pick<Store, 'jobs' | 'batches' | 'batchCallbacks' | 'transaction'>,
  onCallback: (id: string, accountId: string) => void,
): Batches {
  const { batches, transaction } = store;
  const findByKey = (accountId: string, key: string): Promise<BatchDoc | null> =>
    batches.findOne({
      accountId,
      'idempotency.key': key,
      'idempotency.expiresAt': { $gt: new Date() },
    });

  /** Removes an Idempotency-Key that has expired. @returns whether it was there */
  async function releaseKey(accountId: string, key: string): Promise<boolean> {
    const expired = { accountId, 'idempotency.key': key, 'idempotency.expiresAt': { $lte: new Date() } };
    return (await batches.updateOne(expired, { $unset: { idempotency: '' } })).modifiedCount > 0;
  }

  return {
    findByKey,

    async create({ createdAt, ...batch }) {
      const row: BatchDoc = {
        ...batch,
        createdAt,
        state: 'creating',
        pauseReason: null,
        neededCredits: null,
        endedAt: null,
        expiresAt: new Date(createdAt.getTime() + BATCH_MS),
        deleteAt: new Date(createdAt.getTime() + STORED_MS),
        rows: 0,
        charged: 0,
        refused: 0,
        cancelled: 0,
        credits: 0,
        totalCredits: 0,
        maxCredits: null,
        tools: [],
        pools: [],
        seq: 0,
        revision: 0,
        runningSince: createdAt,
        endedBefore: 0,
        order: 'input',
        onEmptyBalance: 'pause',
        metadata: null,
        callbackUrl: null,
        body: { sha256: '', bytes: 0 },
      };
      await batches.updateOne({ _id: row._id }, { $setOnInsert: row }, { upsert: true });
    },

    async open(id, { idempotency, waitsForStart, ...checked }) {
      const set = {
        ...checked,
        state: waitsForStart ? 'paused' : 'running',
        pauseReason: waitsForStart ? 'not_started' : null,
        revision: 1,
        runningSince: new Date(),
        ...(idempotency !== null && {
          idempotency: { ...idempotency, expiresAt: new Date(Date.now() + IDEMPOTENCY_MS) },
        }),
      } as const;
      for (;;) {
        try {
          const opened = await batches.findOneAndUpdate(
            { _id: id, state: 'creating' },
            { $set: set },
            { returnDocument: 'after' },
          );
          // A repetition finds the batch open.
          return opened ?? (await batches.findOne({ _id: id, state: VISIBLE }));
        } catch (error) {
          if (!isDuplicate(error) || idempotency === null) throw error;
        }
        const { accountId } = (await batches.findOne({ _id: id })) ?? {};
        if (accountId === undefined || !(await releaseKey(accountId, idempotency.key))) return null;
      }
    },

    find: (accountId, id) =>
      batches.findOne({
        _id: id,
        accountId,
        state: VISIBLE,
        $or: [{ endedAt: null }, { expiresAt: { $gt: new Date() } }],
      }),

    list: (accountId, { state, tools }, page) =>
      pageByTime(
        'batches',
        (condition) =>
          batches.find({
            accountId,
            state: state ?? VISIBLE,
            $or: [{ endedAt: null }, { expiresAt: { $gt: new Date() } }],
            ...(tools !== null && { tools: { $not: { $elemMatch: { $nin: [...tools] } } } }),
            ...condition,
          }),
        'createdAt',
        page,
      ),

    async isFull(accountId) {
      const open = await batches.countDocuments(
        { accountId, state: { $in: ['creating', ...OPEN] } },
        { limit: MAX_OPEN_BATCHES },
      );
      return open >= MAX_OPEN_BATCHES;
    },

    openOf: (accountId) =>
      batches
        .find({ accountId, state: { $in: [...OPEN] } })
        .sort({ createdAt: 1, _id: 1 })
        .toArray(),

    async pause(id, pauseReason, neededCredits) {
      const paused = await transaction(async (session) => {
        const batch = await batches.findOneAndUpdate(
          { _id: id, state: 'running' },
          { $set: { state: 'paused', pauseReason, neededCredits }, $inc: { revision: 1 } },
          { session, returnDocument: 'after' },
        );
        return batch && { batch, callback: await storeCallback(store, 'batch.paused', batch, session) };
      });
      if (paused?.callback != null) onCallback(paused.callback, paused.batch.accountId);
    },

    async end({ _id, accountId }) {
      const isOpen = { accountId, batchId: _id, state: { $in: [...OPEN_JOBS] } };
      if ((await store.jobs.findOne(isOpen, { projection: { _id: 1 } })) !== null) return;
      const ended = await transaction(async (session) => {
        const batch = await batches.findOneAndUpdate(
          { _id, state: { $in: [...OPEN] }, $expr: { $eq: ['$rows', ENDED] } },
          [
            {
              $set: {
                state: { $cond: [{ $eq: ['$state', 'cancelling'] }, 'cancelled', 'completed'] },
                pauseReason: null,
                neededCredits: null,
                endedAt: '$$NOW',
                expiresAt: { $add: ['$$NOW', BATCH_KEPT_MS] },
                revision: { $add: ['$revision', 1] },
              },
            },
          ],
          { session, returnDocument: 'after' },
        );
        return batch && storeCallback(store, 'batch.completed', batch, session);
      });
      if (ended !== null) onCallback(ended, accountId);
    },

    async resume(id, maxCredits) {
      await batches.updateOne({ _id: id, state: 'paused' }, [
        {
          $set: {
            state: 'running',
            pauseReason: null,
            neededCredits: null,
            revision: { $add: ['$revision', 1] },
            runningSince: '$$NOW',
            endedBefore: ENDED,
            ...(maxCredits !== undefined && { maxCredits: { $literal: maxCredits } }),
          },
        },
      ]);
    },

    async cancel(id) {
      await batches.updateOne(
        { _id: id, state: { $in: ['running', 'paused'] } },
        { $set: { state: 'cancelling', pauseReason: null, neededCredits: null }, $inc: { revision: 1 } },
      );
    },
  };
}
