import type { ServiceError } from '../../schemas/errors.ts';

/**
 * How a call ended: with its output as JSON, for which it was charged, or with an error of the error table, for which
 * it was not.
 */
export interface CallOutcome {
  callId: string;
  /** Id of the first request with this Idempotency-Key; the error response of a replay repeats it. */
  requestId: string;
  replayed: boolean;
  /** Credits available when the call ended; null if the call had ended before this request. */
  available: number | null;
  ending: { output: string | Buffer } | { error: ServiceError };
  /**
   * Must be called once the response has ended. A result that did not reach the caller is refunded in the background.
   *
   * @param isComplete whether the operating system has taken the last byte of the response
   */
  ended(isComplete: boolean): void;
  /** Must be awaited before an error is sent instead of the output; refunds the call. */
  undelivered(fault: unknown): Promise<void>;
}

/** The part of an outcome that is known once the call has been settled. */
export type SettledOutcome = Pick<CallOutcome, 'ending' | 'available'>;

/** How long a caller waits for the response. */
export interface CallerWait {
  /** Aborted when the response has ended or the caller disconnects. */
  hangup: AbortSignal;
  /** When the response is due, as `performance.now()`, which changes of the system clock do not affect. */
  deadline: number;
}
