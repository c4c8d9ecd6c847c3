import type { ProblemMembers } from '../schemas/errors.ts';
import type { Resend, SyncRequest, SyncResult } from '../store/deliveries.ts';
import type { Reservation, ReserveResult, Settled, Settlement } from '../store/ledger.ts';
import type { ResultReference } from '../store/results.ts';
import type { Sweep } from '../store/sweeper.ts';

/**
 * Limits and price of a call, fixed when the API accepts it. A change of a price, tool or timeout therefore affects
 * neither workflow code nor running calls. All times are in milliseconds.
 */
export interface CallPolicy extends Pick<Reservation, 'tool' | 'pool' | 'price' | 'maxRunning'> {
  /** Attempts in total if workers die; 1 if the tool acts on the world. */
  attempts: number;
  /** Longest wait for a free worker; then the call fails with `pool_busy`. */
  queueMs: number;
  /** Time limit of one attempt. */
  attemptMs: number;
  /** Time limit from acceptance to response. */
  deadlineMs: number;
  /** Codes that a repeated request would get again. They keep the Idempotency-Key bound to the call. */
  finalCodes: readonly string[];
  /** The tool may change its target: once started it is not cancelled, and its Idempotency-Key is not released. */
  actsOnWorld: boolean;
}

/**
 * Where a worker fetches the secret fields of a call until it is settled: URL of an API process, and the call's
 * token.
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
  /** Validated, with defaults, without secret fields. */
  input: Record<string, unknown>;
  /** Reference to a large input; `input` is then empty. */
  storedInput?: ResultReference | undefined;
  vault: VaultReference | null;
  /** Expiry of a stored large result; ISO 8601. */
  resultExpiresAt: string;
}

/** The part of a call that the tool's worker needs. */
export type ToolCall = Pick<
  CallRequest,
  'callId' | 'requestId' | 'input' | 'storedInput' | 'vault' | 'resultExpiresAt'
> & {
  attemptMs: number;
};

/** A tool's output, or the reference to a large one. */
export type ToolResult = { output: Record<string, unknown> } | { stored: ResultReference };

export interface CallResult {
  result: ToolResult;
  /** Credits available after the charge. */
  available: number;
}

/** First detail of the failure that ends a call. The failure's type is the error code, its message the detail text. */
export interface CallFailure {
  members: ProblemMembers;
  retryAfter: number | null;
  available: number | null;
}

export interface LedgerActivities {
  reserve(call: Reservation): Promise<ReserveResult>;
  settle(settlement: Settlement): Promise<Settled>;
}

/** One attempt of a delivery, run by a worker of the `delivery` queue. */
export interface DeliveryTask {
  endpointId: string;
  deliveryId: string;
  attempt: number;
}

/** `unsent`: nothing was posted because the endpoint is disabled or deleted. */
export type DeliveryResult =
  | { kind: 'posted'; ok: boolean; attemptId: string; retryAfterMs: number | null }
  | { kind: 'unsent' };

export interface DeliveryActivities {
  deliver(task: DeliveryTask): Promise<DeliveryResult>;
}

export interface EndpointActivities {
  /** `scheduleMs`: waits between attempts. Returns null if the endpoint was deleted. */
  syncEndpoint(request: SyncRequest): Promise<(SyncResult & { scheduleMs: number[] }) | null>;
  /** Returns the number of queued deliveries. */
  resend(endpointId: string, selection: Resend): Promise<number>;
  /** Returns the id of the delivery, or null if the endpoint was deleted. */
  prepareTest(endpointId: string, testId: string): Promise<string | null>;
  /** Creates the deliveries of an account's new events and wakes the workflows of their endpoints. */
  dispatchEvents(accountId: string): Promise<void>;
}

export interface MaintenanceActivities {
  sweepLedger(): Promise<Sweep>;
  /** Dispatches events and wakes endpoints that a crash left behind. */
  sweepEvents(): Promise<void>;
  /** Settles calls whose callers got no result; see store/undelivered.ts. */
  sweepAnswers(): Promise<void>;
}

export interface AllowanceActivities {
  /** Grants the allowances of the current month. Returns the number of accounts that were granted one. */
  grantAllowances(): Promise<number>;
}

export interface AuditActivities {
  /** Audits all accounts and records the result. Returns the number of differences. */
  auditLedger(): Promise<number>;
}

export type ToolActivities = Record<string, (call: ToolCall) => Promise<ToolResult>>;
