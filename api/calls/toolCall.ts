import type { Env } from '../../schemas/env.ts';
import { ERRORS, isErrorCode, isFinalRefusal, type ServiceError } from '../../schemas/errors.ts';
import type { ToolDefinition } from '../../schemas/tool.ts';
import type { ResultReference, ReusedResult } from '../../store/calls/callDocs.ts';
import { type CallPolicy, CROWD_MS, JOB_QUEUE_MS } from '../../store/calls/callPolicy.ts';
import type { StoredLink } from '../../store/files/links.ts';
import type { Caller } from '../http/context.ts';

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
/** Describes the format of an idempotency key, for error texts. */
export const IDEMPOTENCY_KEY_RULE = 'must be 1 to 255 visible ASCII characters';

export const isIdempotencyKey = (value: unknown): value is string =>
  typeof value === 'string' && IDEMPOTENCY_KEY.test(value);

/** A request to run a tool, with its validated input. */
export interface ToolCall {
  caller: Caller;
  tool: ToolDefinition;
  input: Record<string, unknown>;
  /** SHA-256 of the file that was sent with the call; missing if none was. `fileUrl` is then the id under which it is stored. */
  fileDigest?: string | undefined;
  idempotencyKey: string | null;
  /** Highest price in credits that the caller accepts. */
  max: number;
  requestId: string;
  /** Id of the form that was sent, by which the dashboard finds the call while it runs. */
  formId?: string | undefined;
  /** When the request arrived, as `performance.now()`. */
  arrivedAt: number;
  /** Aborted when the response has ended or the caller disconnects. */
  hangup: AbortSignal;
  /** Called when the workflow has been started. */
  onStart?: () => void;
}

/**
 * How a call ended: with its output as JSON, for which it was charged, or with an error of the error table, for which
 * it was not.
 */
export interface CallOutcome {
  /** Credits available when the call ended; null if that is not known. */
  available: number | null;
  ending: { output: string | Buffer } | { error: ServiceError };
  /** Where the output is stored, if it is large. */
  stored?: ResultReference | undefined;
  /** The file that the output has the address of, if it has one. */
  linked?: StoredLink | undefined;
}

/** The outcome of a call as the answer to one request. */
export interface Answer extends Omit<CallOutcome, 'stored' | 'linked'> {
  callId: string;
  startedAt: Date;
  /** Id of the first request with this Idempotency-Key; the error response of a replay repeats it. */
  requestId: string;
  replayed: boolean;
  /** Credits charged for this response; 0 for a replay, the result of an earlier call, or an error. */
  charged: number;
  /** The earlier call whose result this is, because of `maxAge`; null if the tool ran for this call. */
  reused: ReusedResult | null;
  /** Names a file that this response has the address of, and that is kept if the response is not lost. */
  links(file: StoredLink): void;
  /**
   * Must be called once the response has ended. A result that did not reach the caller is refunded in the background.
   *
   * @param isComplete whether the operating system has taken the last byte of the response
   */
  ended(isComplete: boolean): void;
  /** Must be awaited before an error is sent instead of the output; refunds the call. */
  undelivered(fault: unknown): Promise<void>;
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
