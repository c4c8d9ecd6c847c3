import type { IndexDescription } from 'mongodb';
import type { JobState } from '../../schemas/jobs.ts';
import type { ResultReference, Reuse, ReusedResult } from '../calls/callDocs.ts';
import type { CallPolicy } from '../calls/callPolicy.ts';

interface CallbackAttemptDoc {
  /** Its number, from 1. */
  attempt: number;
  at: Date;
  statusCode: number | null;
  error: string | null;
}

/** The delivery of a callback. */
export interface CallbackDoc {
  url: string;
  /** `waiting` until the job has ended. */
  state: 'waiting' | 'pending' | 'delivered' | 'failed';
  attempts: number;
  statusCode: number | null;
  error: string | null;
  /** When the next attempt is due; null if there is none. */
  nextAt: Date | null;
  /** Number of attempts since the callback was last sent again; missing if it never was. */
  tries?: number;
  /** The newest attempts, oldest first; missing if there are none. */
  history?: CallbackAttemptDoc[];
}

/** A callback after an attempt. */
export type AttemptedCallback = Required<Omit<CallbackDoc, 'url' | 'history'>>;

/**
 * A job: a call whose result waits in the store. Its id is the id of its call, which is recorded in `calls` when the job starts
 * to run. Input and result are pieces in `results`. The rows of batches are jobs too.
 */
export interface JobDoc {
  _id: string;
  accountId: string;
  keyId: string | null;
  keyPrefix: string | null;
  tool: string;
  requestId: string;
  policy: CallPolicy;
  /** Null if it is in `sealedInput`. */
  input: ResultReference | null;
  /** The input of a row of a batch, if it is small: encrypted, in base64. Removed when the row ends. */
  sealedInput?: string;
  /** Id of the uploaded file that the input names; missing if it names none. */
  fileId?: string;
  /** Texts of the caller as JSON; null if there are none. */
  metadata: string | null;
  callback: CallbackDoc | null;
  /** URL of the API, for the result's URL in the callback. */
  baseUrl: string;
  state: JobState;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  charged: number;
  code: string | null;
  /** The output of a job that succeeded, or the error of one that failed; null if there is none beside `code`. */
  result: ResultReference | null;
  /** Removed if the job ended so that the same request may succeed; see `isFinalRefusal`. */
  idempotency?: { key: string; fingerprint: string; expiresAt: Date };
  expiresAt: Date;
  /** Id of the run of a schedule that created it; missing if it is none. */
  scheduleRun?: string;
  /** Id of the batch of which it is a row; missing if it is none. The other fields of rows are missing then too. */
  batchId?: string;
  /** Position of the row in the batch, from 0. */
  row?: number;
  /** Id that the caller gave the row; null if there is none. */
  rowId?: string | null;
  /** Position of the row among those that have ended, with gaps; set when the batch has counted it. */
  seq?: number;
  /** Set when the row has ended, until the batch has counted it. */
  uncounted?: true;
  /** Id of its claim by a chunk, while it runs in one, and so without a workflow of its own; see `activities/batches/runRows.ts`. */
  inChunk?: string;
  /** The earlier results that its call accepts; missing without `maxAge`. */
  reuse?: Reuse;
  /** Set if its call was answered with the result of an earlier one. */
  reused?: ReusedResult;
  /** SHA-256 of the output in hexadecimal; missing if it was not computed. */
  sha256?: string;
}

/** The secret that signs the callbacks of an account. The document's id is the id of the account. */
export interface CallbackSecretDoc {
  _id: string;
  /** Encrypted, in base64. */
  secret: string;
  /** The secret that replaces it at `from`; null if no rotation is pending. */
  next: { secret: string; from: Date } | null;
}

export const JOB_INDEXES: IndexDescription[] = [
  {
    key: { accountId: 1, 'idempotency.key': 1 },
    unique: true,
    partialFilterExpression: { 'idempotency.key': { $exists: true } },
  },
  { key: { accountId: 1, batchId: 1, createdAt: -1, _id: -1 } },
  { key: { accountId: 1, batchId: 1, state: 1, createdAt: -1, _id: -1 } },
  // The queue of an account, and what a crash left open.
  {
    key: { accountId: 1, batchId: 1, 'policy.pool': 1, createdAt: 1, row: 1 },
    name: 'queueOfAccount',
    partialFilterExpression: { state: 'queued' },
  },
  { key: { batchId: 1, createdAt: 1 }, name: 'queuedJobs', partialFilterExpression: { state: 'queued' } },
  // The rows of a batch in the order of the input, in that of their ends, and those that it has not counted.
  { key: { batchId: 1, row: 1 }, partialFilterExpression: { batchId: { $exists: true } } },
  { key: { batchId: 1, seq: 1 }, partialFilterExpression: { seq: { $exists: true } } },
  { key: { batchId: 1, uncounted: 1 }, partialFilterExpression: { uncounted: true } },
  { key: { startedAt: 1 }, partialFilterExpression: { state: 'running' } },
  { key: { 'callback.nextAt': 1 }, partialFilterExpression: { 'callback.state': 'pending' } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];
