import type { Pool } from '../../schemas/pools.ts';

/**
 * How long the call of a job, which has just had a free worker, waits for one: shorter than the ten minutes from which a hold
 * raises an alert.
 */
export const JOB_QUEUE_MS = 300_000;
/** Longest time of a tool for its work (`workMs`), in milliseconds. */
export const LONGEST_WORK_MS = 60_000;
/**
 * Time in addition to the tool's limits that a call may spend waiting for workflow tasks, when very many workflows
 * start at once.
 */
export const CROWD_MS = 20_000;
/** Longest time from the start of a job to the end of its call, in milliseconds. */
export const LONGEST_JOB_MS = JOB_QUEUE_MS + LONGEST_WORK_MS + CROWD_MS;

/**
 * Limits and price of a call, fixed when the API accepts the call. A later change of a price, tool or timeout
 * therefore affects neither workflow code nor running calls. All times are in milliseconds.
 */
export interface CallPolicy {
  tool: string;
  pool: Pool;
  price: number;
  /** Maximum number of concurrent calls of the account in the pool; null: unlimited. */
  maxRunning: number | null;
  /**
   * Maximum number of attempts, including the first, if a worker dies during the call; 1 for calls with side effects
   * outside the service (`actsOnWorld`).
   */
  attempts: number;
  /** Whether the tool takes only milliseconds (`fast`); missing in older histories. */
  isFast?: boolean | undefined;
  /** Whether the call is a job, which gives way to all synchronous calls. */
  isJob?: true;
  /** Maximum time that a call waits for a free worker before it fails with `pool_busy`. */
  queueMs: number;
  attemptMs: number;
  /** Time limit from acceptance to response. */
  deadlineMs: number;
  /**
   * Error codes that the same request would get again. A call that ends with one of them keeps its Idempotency-Key.
   */
  finalCodes: readonly string[];
  /**
   * Whether the call can have side effects outside the service, such as a POST request. Its tool is not cancelled
   * once it has started, and its Idempotency-Key is then not released.
   */
  actsOnWorld: boolean;
}
