import { type ErrorCode, REMEDIES } from './generated/errors.ts';

/** Base class of all errors of this package. */
export class UtilityToolsError extends Error {
  override name = 'UtilityToolsError';
  /**
   * Idempotency key of the call, if it was sent with one. Repeating the call with it within 24 hours returns the result if
   * there is one, without a second charge.
   */
  readonly idempotencyKey: string | null;

  constructor(message: string, options: { cause?: unknown; idempotencyKey?: string | null } = {}) {
    super(message, { cause: options.cause });
    this.idempotencyKey = options.idempotencyKey ?? null;
  }
}

/** One fault of the input. */
export interface Fault {
  /** JSON Pointer (RFC 6901) into the input, such as `/text`. */
  pointer: string;
  message: string;
}

/** The budget of an API key that a call would exceed. */
export interface ExceededBudget {
  /** Period of the budget (UTC). */
  period: 'day' | 'month';
  credits: number;
  /** Credits that the key has spent in the period, those of running calls included. */
  spent: number;
  /** When the next period begins; ISO 8601. */
  resetsAt: string;
}

/** The body of an error response (RFC 9457). */
export interface Problem {
  code: string;
  status: number;
  title: string;
  detail: string;
  requestId: string;
  errors?: Fault[];
  moreErrors?: number;
  available?: number;
  cost?: number;
  budget?: ExceededBudget;
}

const isKnown = (code: string): code is ErrorCode => Object.hasOwn(REMEDIES, code);

/** Returns advice for the caller: which faults to correct, or what the service advises for this error code. */
function remedyOf({ code, errors = [], moreErrors = 0 }: Problem): string {
  if (errors.length === 0) return isKnown(code) ? ` ${REMEDIES[code]}` : '';
  const faults = errors.map(({ pointer, message }) => `\n  ${pointer || '(input)'} ${message}`);
  if (moreErrors > 0) faults.push(`\n  and ${moreErrors} more`);
  return `${faults.join('')}\nCorrect these fields.`;
}

/** What happened, what it means, and what to do. */
function describe(problem: Problem, isTool: boolean): string {
  const { code, errors = [], available, cost, requestId } = problem;
  const detail =
    errors.length === 0 ? problem.detail : problem.detail.replace(' "errors" lists the faults.', '');
  const amounts = available === undefined ? '' : ` The call costs ${cost}; ${available} are available.`;
  const free = isTool && !detail.includes('charged') ? ' Nothing was charged.' : '';
  return `${detail}${amounts}${free}${remedyOf(problem)} [${code}, request ${requestId}]`;
}

/** The service rejected the request. Branch on `code`; its meaning is stable. */
export class ApiError extends UtilityToolsError {
  override name = 'ApiError';
  /** Codes that later versions of the service add are strings too. */
  readonly code: ErrorCode | (string & {});
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** The dashboard and the log of the service find the call by it. */
  readonly requestId: string;
  /** Faults of the input, with `invalid_input`. */
  readonly faults: readonly Fault[];
  /** Number of faults that `faults` does not list. */
  readonly moreFaults: number;
  /** Credits that can be spent, with `insufficient_credits`. */
  readonly available: number | null;
  /** Price of the call; set only with the codes `insufficient_credits` and `key_budget_exceeded`. */
  readonly cost: number | null;
  /** The exceeded budget of the API key, with `key_budget_exceeded`. */
  readonly budget: ExceededBudget | null;
  /** Milliseconds after which the service suggests a retry. */
  readonly retryAfterMs: number | null;

  constructor(
    problem: Problem,
    options: { isTool: boolean; retryAfterMs: number | null; idempotencyKey: string | null },
  ) {
    super(describe(problem, options.isTool), options);
    this.code = problem.code;
    this.status = problem.status;
    this.title = problem.title;
    this.detail = problem.detail;
    this.requestId = problem.requestId;
    this.faults = problem.errors ?? [];
    this.moreFaults = problem.moreErrors ?? 0;
    this.available = problem.available ?? null;
    this.cost = problem.cost ?? null;
    this.budget = problem.budget ?? null;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Narrows an error to an `ApiError`, optionally to one with this code. */
export function isApiError<C extends ErrorCode>(error: unknown, code?: C): error is ApiError & { code: C } {
  return error instanceof ApiError && (code === undefined || error.code === code);
}

/** No usable response arrived: the connection failed or was lost, or an intermediary such as a proxy responded instead of the service. */
export class ConnectionError extends UtilityToolsError {
  override name = 'ConnectionError';
  /** Status of the response, if there was one. */
  readonly status: number | null;
  /** Milliseconds after which a proxy suggests a retry. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    options: {
      cause?: unknown;
      idempotencyKey?: string | null;
      status?: number | null;
      retryAfterMs?: number | null;
    } = {},
  ) {
    super(message, options);
    this.status = options.status ?? null;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** The call was not finished within `timeoutMs`. */
export class TimeoutError extends UtilityToolsError {
  override name = 'TimeoutError';
}

/** The `signal` of the call was aborted. `cause` is its reason. */
export class AbortedError extends UtilityToolsError {
  override name = 'AbortError';
}

/** A delivery whose signature, time or body is not genuine. */
export class WebhookVerificationError extends UtilityToolsError {
  override name = 'WebhookVerificationError';
}
