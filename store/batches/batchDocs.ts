import type { IndexDescription } from 'mongodb';
import type { BatchEvent, BatchState, PauseReason, RowOrder } from '../../schemas/batches.ts';
import type { Pool } from '../../schemas/pools.ts';
import type { CallbackDoc } from '../jobs/jobDocs.ts';

/**
 * A batch of calls. Its rows are documents in `jobs`, which have its id and their number. The sums below count the rows that have
 * ended and of which `seq` is set; see `countEnded`.
 */
export interface BatchDoc {
  _id: string;
  accountId: string;
  keyId: string | null;
  keyPrefix: string | null;
  requestId: string;
  /** Id of the schedule that created it; missing if it is none. */
  scheduleId?: string;
  /** `creating` while its rows are stored, `discarding` while they are deleted because one was bad; nobody sees it then. */
  state: BatchState | 'creating' | 'discarding';
  pauseReason: PauseReason | null;
  /** Credits that must be available before a batch without credits continues by itself; null if it does not. */
  neededCredits: number | null;
  createdAt: Date;
  endedAt: Date | null;
  /** When the batch is cancelled if it has not ended, else when it is no longer shown. */
  expiresAt: Date;
  /** When MongoDB deletes the document. */
  deleteAt: Date;
  rows: number;
  charged: number;
  refused: number;
  cancelled: number;
  /** Credits that the counted rows were charged. */
  credits: number;
  totalCredits: number;
  maxCredits: number | null;
  /** Names of the tools of the rows. */
  tools: string[];
  pools: Pool[];
  /** Lower bound of the `seq` of rows that are counted later. */
  seq: number;
  /** Incremented with each change that a caller can notice. */
  revision: number;
  /** When the batch was started or last resumed, and how many rows had ended then. */
  runningSince: Date;
  endedBefore: number;
  order: RowOrder;
  onEmptyBalance: 'pause' | 'stop';
  /** Texts of the caller as JSON; null if there are none. */
  metadata: string | null;
  callbackUrl: string | null;
  /** URL of the API, for the URLs in callbacks. */
  baseUrl: string;
  /** Digest of the body that created the batch, in hexadecimal, and its size. */
  body: { sha256: string; bytes: number };
  idempotency?: { key: string; fingerprint: string; expiresAt: Date };
}

/** A callback of a batch and its delivery. */
export interface BatchCallbackDoc extends CallbackDoc {
  _id: string;
  batchId: string;
  accountId: string;
  event: BatchEvent;
  /** The batch when the callback was caused, as JSON: the body is the same on every attempt. */
  data: string;
  createdAt: Date;
  deleteAt: Date;
}

export const BATCH_CALLBACK_INDEXES: IndexDescription[] = [
  { key: { batchId: 1, createdAt: -1, _id: -1 } },
  { key: { accountId: 1 } },
  { key: { nextAt: 1 }, partialFilterExpression: { state: 'pending' } },
  { key: { deleteAt: 1 }, expireAfterSeconds: 0 },
];

export const BATCH_INDEXES: IndexDescription[] = [
  {
    key: { accountId: 1, 'idempotency.key': 1 },
    unique: true,
    partialFilterExpression: { 'idempotency.key': { $exists: true } },
  },
  { key: { accountId: 1, createdAt: -1, _id: -1 } },
  { key: { accountId: 1, state: 1, createdAt: -1, _id: -1 } },
  // What has not ended.
  { key: { endedAt: 1 }, partialFilterExpression: { endedAt: { $type: 'null' } } },
  { key: { deleteAt: 1 }, expireAfterSeconds: 0 },
];
