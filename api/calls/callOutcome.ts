import type { ServiceError } from '../../schemas/errors.ts';

/** The end of a call: its output as JSON, for which it was charged, or an error of the table, for which it was not. */
export interface CallOutcome {
  callId: string;
  /** Request id of the first call with this idempotency key; a refusal's body repeats it. */
  requestId: string;
  replayed: boolean;
  /** Credits available when the call ended; null when the call had ended before this request. */
  available: number | null;
  ending: { output: string | Buffer } | { error: ServiceError };
  /** Must be called when the response was handed to the operating system, or the caller disconnected. */
  delivered(): void;
  /** Must be awaited before an error is sent in place of the output: it refunds the call. */
  undelivered(fault: unknown): Promise<void>;
}

/** The part of an outcome that settling the call determines. */
export type SettledOutcome = Pick<CallOutcome, 'ending' | 'available'>;

/** The time for which a caller waits for the response. */
export interface CallerWait {
  /** Aborted when the caller disconnects. */
  hangup: AbortSignal;
  /** Epoch milliseconds at which the response is due. */
  deadline: number;
}
