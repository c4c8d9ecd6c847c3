import type { ProblemMembers } from '../schemas/errors.ts';
import type { PictureDifference } from '../schemas/schedules.ts';
import type { CallDigests, ToolTimes } from '../store/accounts/accountDocs.ts';
import type { CallPolicy } from '../store/calls/callPolicy.ts';
import type { ResultReference } from '../store/calls/results.ts';
import type { Sweep } from '../store/calls/sweeper.ts';
import type { FileReference } from '../store/files/files.ts';
import type { StoredLink } from '../store/files/links.ts';
import type { KeyBudget } from '../store/ledger/keySpend.ts';
import type { Reservation, ReserveResult, Settled, Settlement } from '../store/ledger/ledger.ts';
import type { DigestKeys } from '../store/receipts/digests.ts';
import type { KeptPicture } from '../store/schedules/scheduleDocs.ts';
import type { Snapshot } from '../store/schedules/sealed.ts';

/**
 * Where a worker fetches the secret fields of a call until the call is settled: the URL of an API process, and the
 * token of the call.
 */
export interface VaultReference {
  url: string;
  token: string;
}

export interface CallRequest {
  callId: string;
  accountId: string;
  requestId: string;
  policy: CallPolicy;
  /** The validated input with defaults applied and without secret fields. */
  input: Record<string, unknown>;
  /** Reference to a large input; `input` is then empty. */
  storedInput?: ResultReference | undefined;
  /** The uploaded file that the input names; missing if it names none. */
  file?: FileReference | undefined;
  vault: VaultReference | null;
  /** URL of the API, if the call returns the address of its file; may also be set otherwise. */
  baseUrl?: string | undefined;
  /** Whether a worker of the tool's pool runs the whole call (docs/architecture.md, "The fast lane"). Default: false. */
  inFastLane?: true;
  /** The API key of the call and its budgets; missing for calls from the dashboard and in older histories. */
  key?: KeyBudget | undefined;
  /** Keys of the digests of input and output; missing in older histories. */
  digestKeys?: DigestKeys | undefined;
  /** Expiry of the result if it is large and therefore stored in MongoDB; ISO 8601. */
  resultExpiresAt: string;
}

/** One attempt of a tool: the parts of a call that the worker needs. */
export type ToolAttempt = Pick<
  CallRequest,
  | 'callId'
  | 'requestId'
  | 'input'
  | 'storedInput'
  | 'file'
  | 'vault'
  | 'baseUrl'
  | 'digestKeys'
  | 'resultExpiresAt'
> & {
  attemptMs: number;
  /** Whether the tool ignores a cancellation, because it may already have had side effects. Missing for other calls. */
  finishes?: boolean;
};

/** A tool's output, or the reference to the stored output if it is large. */
export type ToolResult = ({ output: Record<string, unknown> } | { stored: ResultReference }) & {
  /** The file that the output has the address of; missing if it has none. */
  linked?: StoredLink | undefined;
};

/** Result of an attempt of a tool. `times` and `digests` are missing in older histories. */
export type ToolAnswer = ToolResult & { times?: ToolTimes | undefined; digests?: CallDigests | undefined };

export interface CallResult {
  result: ToolResult;
  /** Credits available after the charge. */
  available: number;
}

/**
 * First detail of the `ApplicationFailure` that ends a call. The type of the failure is the error code, its message
 * the detail text.
 */
export interface CallFailure {
  members: ProblemMembers;
  retryAfter: number | null;
  available: number | null;
  /** Set by the worker that ran the tool. */
  times?: ToolTimes | undefined;
}

export interface LedgerActivities {
  reserve(call: Reservation): Promise<ReserveResult>;
  settle(settlement: Settlement): Promise<Settled>;
}

/** How far a call got in the fast lane. What is missing is left to the workflow. */
export interface WholeCall {
  held?: ReserveResult;
  answer?: ToolAnswer;
  settled?: Settled;
}

export interface FastLaneActivities {
  /**
   * Reserves the price of a call, runs its tool, and charges. Can be repeated, with the tool. Stops at a refused reservation, or if
   * MongoDB does not answer. @throws the failure of the tool; its call is then to be refunded
   */
  runWhole(call: CallRequest): Promise<WholeCall>;
}

export interface MaintenanceActivities {
  sweepLedger(): Promise<Sweep>;
  /** Creates the deliveries of events that a crash left pending, and wakes the workflows of endpoints with overdue ones. */
  sweepEvents(): Promise<void>;
  /** Settles calls whose callers got no result; see store/ledger/paybacks.ts. */
  sweepAnswers(): Promise<void>;
}

export interface JobMaintenanceActivities {
  /** Starts queues and callbacks of jobs whose start was lost, and ends jobs whose workflow has ended without them. */
  sweepJobs(): Promise<void>;
}

/** A result with a file, which a worker compares with an earlier one. */
export interface Comparison {
  scheduleId: string;
  runId: string;
  accountId: string;
  /** Id of the call of the run. */
  callId: string;
  tool: string;
  result: ResultReference;
  /** The picture with which it is compared; null if there is none. */
  before: KeptPicture | null;
  /** URL of the API, for the address of the difference. */
  baseUrl: string;
  /** Whether pictures may be stored. */
  stores: boolean;
}

/** What a worker has found out about the result of a run. */
export interface ComparedResult {
  /** What the result is about; see `comparedLines`. */
  snapshot: Snapshot;
  /** The picture with which the next one is compared; null if the file is none, or was not stored. */
  picture: KeptPicture | null;
  difference: PictureDifference | null;
  /** Size of the picture in bytes, if it was stored now; else 0. */
  pictureBytes: number;
  /** The picture of the difference; null if none was stored. */
  linked: StoredLink | null;
}

/** The step of schedules that decodes pictures, in the pool `cpu`. */
export interface ComparisonActivities {
  /** Compares the file of a result with that of an earlier one. Can be repeated. */
  compareResult(comparison: Comparison): Promise<ComparedResult>;
}

/** The steps of schedules, which the orchestrator runs as local activities. All can be repeated. */
export interface ScheduleActivities {
  /** Adds the run of a schedule for a time (ISO 8601), then does `startScheduledRuns`. @param version of the clock that started it */
  addScheduledRun(scheduleId: string, dueAt: string, version: number): Promise<void>;
  /**
   * Ends the runs of a schedule whose jobs or batches have ended, and starts those whose turn it is: creates their jobs or
   * batches. Returns the results that are to be compared before their runs end.
   */
  startScheduledRuns(scheduleId: string): Promise<Comparison[]>;
  /** Ends a run whose result was compared. @param compared null if that failed; results are then compared by their bytes */
  endComparedRun(comparison: Comparison, compared: ComparedResult | null): Promise<void>;
}

export interface AllowanceActivities {
  /** Grants the allowances of the current month. Returns the number of accounts that were granted one. */
  grantAllowances(): Promise<number>;
}

export interface AuditActivities {
  /** Audits all accounts and records the result. Returns the number of differences. */
  auditLedger(): Promise<number>;
}

export type ToolActivities = Record<string, (attempt: ToolAttempt) => Promise<ToolAnswer>>;
