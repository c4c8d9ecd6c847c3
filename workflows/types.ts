import type { ProblemMembers } from '../schemas/errors.ts';
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
  vault: VaultReference | null;
  /** Until when a result that is too big for a payload is kept; ISO 8601. */
  resultExpiresAt: string;
}

/** The part of a call that its tool's worker needs. */
export type ToolCall = Pick<CallRequest, 'callId' | 'requestId' | 'input' | 'vault' | 'resultExpiresAt'> & {
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

export interface MaintenanceActivities {
  sweepLedger(): Promise<Sweep>;
}

export type ToolActivities = Record<string, (call: ToolCall) => Promise<ToolResult>>;
