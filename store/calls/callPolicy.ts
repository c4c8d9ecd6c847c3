import type { Env } from '../../schemas/env.ts';
import { ERRORS, isErrorCode, isFinalRefusal } from '../../schemas/errors.ts';
import type { Pool } from '../../schemas/pools.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';

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

/** Maximum time from the acceptance of a call to its response. Common proxies close a request after 100 s or more. */
export const LONGEST_CALL_MS = 100_000;
/**
 * Time in addition to the workflow's deadline that the API allows for two ledger steps and the network round trips.
 */
export const OVERHEAD_MS = 5000;
/**
 * Time reserved after the deadline for refunding a call, or for reading its result if it was charged in the meantime.
 */
const GIVE_UP_MS = 3000;
/** Time for its work that a call has left, even if it has waited as long as possible for a worker. */
const LEAST_WORK_MS = 25_000;
/** Maximum number of concurrent calls of one account in one pool. */
export const MAX_RUNNING = 64;
const DEFAULT_ATTEMPTS = 3;

const FINAL_CODES = Object.keys(ERRORS).filter((code) => isErrorCode(code) && isFinalRefusal(code));

/** Returns the limits of a job's workflow, whose result no caller waits for. */
export function jobPolicyOf(
  tool: ToolDefinition,
  actsOnWorld: boolean,
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT'>,
): CallPolicy {
  const { workMs } = tool.limits;
  return {
    ...policyOf(tool, actsOnWorld, limits),
    isJob: true,
    // The queue of the account's jobs bounds how many run.
    maxRunning: null,
    queueMs: JOB_QUEUE_MS,
    deadlineMs: JOB_QUEUE_MS + workMs + CROWD_MS,
    finalCodes: [],
  };
}

/**
 * Returns the limits of a call's workflow. Calls with side effects outside the service (`actsOnWorld`) are attempted
 * once.
 *
 * @param waitedMs milliseconds that the call has waited for a slot, which shorten its wait for a worker
 */
export function policyOf(
  tool: ToolDefinition,
  actsOnWorld: boolean,
  limits: Pick<Env, 'RATE_LIMIT' | 'POOL_WAIT'>,
  waitedMs = 0,
): CallPolicy {
  const { workMs, attemptMs = workMs, attempts = DEFAULT_ATTEMPTS } = tool.limits;
  const longest = LONGEST_CALL_MS - OVERHEAD_MS - GIVE_UP_MS - waitedMs;
  const queueMs = Math.min(limits.POOL_WAIT - waitedMs, longest - Math.min(workMs, LEAST_WORK_MS));
  return {
    tool: tool.name,
    pool: tool.pool,
    price: tool.price,
    maxRunning: limits.RATE_LIMIT === null ? null : MAX_RUNNING,
    isFast: tool.fast ?? false,
    attempts: actsOnWorld ? 1 : attempts,
    queueMs,
    attemptMs,
    deadlineMs: Math.min(longest, queueMs + workMs + CROWD_MS),
    actsOnWorld,
    finalCodes: FINAL_CODES,
  };
}
