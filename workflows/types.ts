import type { ProblemMembers } from '../schemas/errors.ts';
import type { Resend, SyncRequest, SyncResult } from '../store/deliveries.ts';
import type { Reservation, ReserveResult, Settled, Settlement } from '../store/ledger.ts';
import type { ResultReference } from '../store/results.ts';
import type { Sweep } from '../store/sweeper.ts';

/**
 * What the API decided about a call when it was accepted. It travels with the call, so a new price, tool or time-out
 * changes neither workflow code nor a call in flight. All times in milliseconds.
 */
export interface CallPolicy extends Pick<Reservation, 'tool' | 'pool' | 'price' | 'maxRunning'> {
  /** Attempts in all when a worker dies half way; 1 for what acts on the world. */
  attempts: number;
  /** Longest wait for a free worker; after it the call is answered `pool_busy`. */
  queueMs: number;
  /** Longest run of one attempt. */
  attemptMs: number;
  /** From acceptance to the answer, everything included. */
  deadlineMs: number;
  /** Codes that the same request would always get: they stay bound to its Idempotency-Key. */
  finalCodes: readonly string[];
  /** Changes something out there: once handed to a worker it is not cut short, and its key is not freed. */
  actsOnWorld: boolean;
}

/** Where the secrets of a call can be fetched until it is settled: a replica of the API, and a one-call token. */
export interface VaultReference {
  url: string;
  token: string;
}

export interface CallRequest {
  callId: string;
  accountId: string;
  requestId: string;
  policy: CallPolicy;
  /** Validated, with defaults, without its secret fields. */
  input: Record<string, unknown>;
  /** Where the input lies when it is big; `input` is empty then. */
  storedInput?: ResultReference | undefined;
  vault: VaultReference | null;
  /** Until when a result that is too big for a payload is kept; ISO 8601. */
  resultExpiresAt: string;
}

/** The part of a call that its tool's worker needs. */
export type ToolCall = Pick<
  CallRequest,
  'callId' | 'requestId' | 'input' | 'storedInput' | 'vault' | 'resultExpiresAt'
> & {
  attemptMs: number;
};

/** A tool's output, or where it lies when it is big. */
export type ToolResult = { output: Record<string, unknown> } | { stored: ResultReference };

export interface CallResult {
  result: ToolResult;
  /** Credits available after the charge. */
  available: number;
}

/** First detail of the failure that ends a call without a result; the failure's type is the code, its message the text. */
export interface CallFailure {
  members: ProblemMembers;
  retryAfter: number | null;
  available: number | null;
}

export interface LedgerActivities {
  reserve(call: Reservation): Promise<ReserveResult>;
  settle(settlement: Settlement): Promise<Settled>;
}

/** One attempt to deliver, by a worker of the `delivery` pool. */
export interface DeliveryTask {
  endpointId: string;
  deliveryId: string;
  attempt: number;
}

/** `unsent`: the endpoint is disabled or gone, so nothing was posted. */
export type DeliveryResult =
  | { kind: 'posted'; ok: boolean; attemptId: string; retryAfterMs: number | null }
  | { kind: 'unsent' };

export interface DeliveryActivities {
  deliver(order: DeliveryTask): Promise<DeliveryResult>;
}

export interface EndpointActivities {
  /** Null: the endpoint is gone. The schedule is the waits between attempts, in milliseconds. */
  syncEndpoint(turn: SyncRequest): Promise<(SyncResult & { scheduleMs: number[] }) | null>;
  resend(endpointId: string, wanted: Resend): Promise<number>;
  /** The id of the delivery; null: the endpoint is gone. */
  prepareTest(endpointId: string, testId: string): Promise<string | null>;
  /** Makes the deliveries of an account's new events, and wakes the workflows of their endpoints. */
  dispatchEvents(accountId: string): Promise<void>;
}

export interface MaintenanceActivities {
  sweepLedger(): Promise<Sweep>;
  /** Hands over events, and wakes endpoints, that a crash left behind. */
  sweepEvents(): Promise<void>;
  /** Settles calls whose callers got no result: see store/undelivered.ts. */
  sweepAnswers(): Promise<void>;
}

export interface AllowanceActivities {
  /** For the month that it is when this begins. Answers how many accounts were granted theirs. */
  grantAllowances(): Promise<number>;
}

export type ToolActivities = Record<string, (call: ToolCall) => Promise<ToolResult>>;
