import type { IndexDescription } from 'mongodb';
import type {
  OnChange,
  Overlap,
  RunOrigin,
  RunState,
  SCHEDULE_CHANGED,
  SchedulePause,
} from '../../schemas/schedules.ts';
import type { BatchCallbackDoc } from '../batches/batchDocs.ts';
import type { ResultReference } from '../calls/callDocs.ts';

/** The picture of a run with which those of later ones are compared. It is encrypted. */
export interface KeptPicture {
  runId: string;
  /** Of its bytes, in hexadecimal. Pictures that do not differ visibly from it count as this one. */
  sha256: string;
  content: ResultReference;
}

/**
 * A job or batch that repeats. This document says what a schedule is; its clock, a schedule of Temporal, only repeats the part of it
 * that says when (`syncClock.ts`).
 */
export interface ScheduleDoc {
  _id: string;
  accountId: string;
  /** The API key that created or last changed the schedule, with which its calls run. */
  keyId: string | null;
  keyPrefix: string | null;
  requestId: string;
  name: string;
  cron: string;
  timeZone: string;
  overlap: Overlap;
  onChange: OnChange;
  callbackUrl: string | null;
  paused: boolean;
  pauseReason: SchedulePause | null;
  /** What a run creates (`ScheduleTarget`), without the inputs of a batch: encrypted, in base64. */
  sealedTarget: string;
  /** The inputs of a batch: encrypted, in base64; null if it is a job. */
  sealedInputs: string | null;
  kind: 'job' | 'batch';
  /** Names of the tools that a run calls. */
  tools: string[];
  /** URL of the API, for the URLs in callbacks. */
  baseUrl: string;
  createdAt: Date;
  /** Incremented with each change of what the clock has. */
  version: number;
  /** Since when the clock may differ from this document; null if it does not. */
  unsyncedSince: Date | null;
  /** The result of the last run that succeeded, as far as it is compared; null if there is none. */
  last: { runId: string; dueAt: Date; sealedSnapshot: string; picture?: KeptPicture } | null;
  /** Runs that started before are not compared: they had another target, or no comparison was wanted. */
  comparedFrom: Date;
  /** Incremented by each transaction that decides which runs start, so that only one does at a time. */
  turn: number;
  /** Set when the schedule was deleted, until its clock is. Nobody sees it then. */
  deletedAt?: Date;
  idempotency?: { key: string; fingerprint: string };
}

/** A schedule without its large parts, which only its runs need. */
export type ShownSchedule = Omit<ScheduleDoc, 'sealedInputs' | 'last'>;

/** A run of a schedule. Its id derives from its time, or from the Idempotency-Key of its request, so that there is only one. */
export interface ScheduleRunDoc {
  _id: string;
  scheduleId: string;
  accountId: string;
  origin: RunOrigin;
  dueAt: Date;
  state: RunState;
  code: string | null;
  /** Set when the run starts, before the job or the batch is created. */
  jobId: string | null;
  batchId: string | null;
  createdAt: Date;
  startedAt: Date | null;
  endedAt: Date | null;
  charged: number;
  changed: boolean | null;
  /** The difference of its result: encrypted, in base64; missing if there is none. */
  sealedDifference?: string;
  /** Whether it waits or runs. */
  isOpen?: true;
  /** Whether its job or batch is to be cancelled. */
  isCancelling?: true;
  /** When its state was changed or, while it is open, last checked. */
  movedAt: Date;
  expiresAt: Date;
}

/** A callback of a schedule and its delivery. Its data is encrypted, in base64, because it quotes results. */
export interface ScheduleCallbackDoc extends Omit<BatchCallbackDoc, 'batchId' | 'event'> {
  scheduleId: string;
  event: typeof SCHEDULE_CHANGED;
}

export const SCHEDULE_INDEXES: IndexDescription[] = [
  {
    key: { accountId: 1, 'idempotency.key': 1 },
    unique: true,
    partialFilterExpression: { 'idempotency.key': { $exists: true } },
  },
  { key: { accountId: 1, createdAt: -1, _id: -1 } },
  { key: { unsyncedSince: 1 }, partialFilterExpression: { unsyncedSince: { $type: 'date' } } },
];

export const SCHEDULE_CALLBACK_INDEXES: IndexDescription[] = [
  { key: { scheduleId: 1, createdAt: -1, _id: -1 } },
  { key: { accountId: 1 } },
  { key: { nextAt: 1 }, partialFilterExpression: { state: 'pending' } },
  { key: { deleteAt: 1 }, expireAfterSeconds: 0 },
];

export const SCHEDULE_RUN_INDEXES: IndexDescription[] = [
  { key: { scheduleId: 1, dueAt: -1, _id: -1 } },
  { key: { scheduleId: 1, state: 1, dueAt: 1 }, partialFilterExpression: { isOpen: true } },
  { key: { movedAt: 1 }, partialFilterExpression: { isOpen: true } },
  { key: { accountId: 1 } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
];
