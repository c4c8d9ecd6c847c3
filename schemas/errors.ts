import { CALL_ERRORS } from './callErrors.ts';

/**
 * The error table: for each error code, which never changes, the HTTP status and the texts of its response. Routes,
 * workflow, OpenAPI document and documentation read it; a test fails if any of them uses a code that is not in it.
 *
 * `detail` is the default public text; a `ServiceError` may have a more specific one. It never contains internal
 * information (resolved addresses, stack traces): that belongs in `cause`, which is logged and never sent.
 */
interface ErrorEntry {
  status: number;
  title: string;
  detail: string;
  /** Seconds for `Retry-After`, if a later request can succeed. */
  retryAfter?: number;
}

export const ERRORS = {
  malformed_json: { status: 400, title: 'Malformed JSON', detail: 'The request body is not a JSON object.' },
  invalid_header: { status: 400, title: 'Invalid header', detail: 'A request header has an invalid value.' },
  missing_api_key: {
    status: 401,
    title: 'Missing API key',
    detail: 'The request has no API key.',
  },
  invalid_api_key: {
    status: 401,
    title: 'Invalid API key',
    detail: 'The API key is unknown, revoked or expired.',
  },
  insufficient_credits: {
    status: 402,
    title: 'Insufficient credits',
    detail: 'The account has fewer credits available than the call costs.',
  },
  price_above_max: {
    status: 402,
    title: 'Price above maximum',
    detail:
      'The price of the call exceeds the maximum that the caller set. Nothing ran and nothing was charged.',
  },
  key_budget_exceeded: {
    status: 402,
    title: 'Key budget exceeded',
    detail: 'The call would exceed a budget of its API key. Nothing ran and nothing was charged.',
  },
  tool_not_allowed: {
    status: 403,
    title: 'Tool not allowed',
    detail: 'This API key may not call this tool.',
  },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    detail: 'This API key does not have the required scope.',
  },
  network_not_allowed: {
    status: 403,
    title: 'Network not allowed',
    detail: 'This API key may not be used from the address of the client.',
  },
  account_suspended: {
    status: 403,
    title: 'Account suspended',
    detail:
      'The account is suspended, because credits that were taken back, for example by a refund, had already been spent, or by an operator of the service. In the first case, calls are accepted again when new credits cover the shortfall.',
  },
  unknown_tool: {
    status: 404,
    title: 'Unknown tool',
    detail: 'This tool does not exist. GET /api/v1/tools lists all tools.',
  },
  not_found: { status: 404, title: 'Not found', detail: 'There is nothing with this address or id.' },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'This path does not support the method. The Allow header lists the supported ones.',
  },
  idempotency_key_used: {
    status: 409,
    title: 'Idempotency key used',
    detail:
      'The idempotency key was used for a call of a tool with secret fields, whose responses are not stored, or for a call whose large result is no longer kept. The call cannot be replayed.',
  },
  cancelled: CALL_ERRORS.cancelled,
  key_inactive: {
    status: 409,
    title: 'Key inactive',
    detail: 'The API key is revoked or has expired, so that it cannot be changed.',
  },
  endpoint_disabled: { status: 409, title: 'Endpoint disabled', detail: 'The webhook endpoint is disabled.' },
  not_finished: {
    status: 409,
    title: 'Not finished',
    detail: 'The job has not ended yet, so that it has no result.',
  },
  limit_reached: {
    status: 409,
    title: 'Limit reached',
    detail: 'The account has as many of these as it may have.',
  },
  rotation_pending: {
    status: 409,
    title: 'Rotation pending',
    detail: 'An earlier rotation of this secret has not ended yet.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    detail: 'The request body exceeds the size limit of this operation.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'The body must be application/json in UTF-8, without Content-Encoding.',
  },
  invalid_input: {
    status: 422,
    title: 'Invalid input',
    detail: 'The input does not match the schema. "errors" lists the faults.',
  },
  idempotency_key_mismatch: {
    status: 422,
    title: 'Idempotency key mismatch',
    detail: 'The idempotency key was used before with another tool or another input.',
  },
  target_refused: {
    status: 422,
    title: 'Target refused',
    detail: 'The target is not a public address on a permitted port.',
  },
  host_not_found: { status: 422, title: 'Host not found', detail: 'The host name does not resolve.' },
  source_too_large: {
    status: 422,
    title: 'Source too large',
    detail: 'The downloaded file exceeds the size limit of this tool.',
  },
  unsupported_source: {
    status: 422,
    title: 'Unsupported source',
    detail: 'The type of the downloaded file is not supported by this tool.',
  },
  corrupt_source: {
    status: 422,
    title: 'Corrupt source',
    detail: 'The downloaded file is damaged or incomplete.',
  },
  output_too_large: { status: 422, title: 'Output too large', detail: 'The result is larger than 50 MB.' },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    detail: 'Too many requests were sent in a short time.',
    retryAfter: 1,
  },
  internal: CALL_ERRORS.internal,
  target_failed: {
    status: 502,
    title: 'Target failed',
    detail: 'The target refused the connection or sent an invalid response.',
  },
  pool_busy: CALL_ERRORS.pool_busy,
  tool_unavailable: {
    status: 503,
    title: 'Tool unavailable',
    detail: 'The tool cannot run at the moment.',
    retryAfter: 300,
  },
  feed_unavailable: {
    status: 503,
    title: 'Feed unavailable',
    detail: 'No price or exchange rate has been received yet.',
    retryAfter: 60,
  },
  target_timeout: { status: 504, title: 'Target timed out', detail: 'The target did not respond in time.' },
  deadline_exceeded: CALL_ERRORS.deadline_exceeded,
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** One fault of an input: a JSON Pointer (RFC 6901) into the body, and a message. */
export interface Fault {
  pointer: string;
  message: string;
}

/** Members of an error response in addition to those of RFC 9457. */
export interface ProblemMembers {
  errors?: Fault[];
  /** Number of faults that `errors` does not list. */
  moreErrors?: number;
  available?: number;
  cost?: number;
  /** The exceeded budget of an API key. */
  budget?: { period: 'day' | 'month'; credits: number; spent: number; resetsAt: string };
}

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERRORS, code);

/**
 * Whether the same request would fail again in the same way. Such an error keeps its Idempotency-Key and is replayed.
 * After any other error (402, 429, 5xx, cancellation) the request may succeed, so the key is released.
 */
export const isFinalRefusal = (code: ErrorCode): boolean => ERRORS[code].status === 422;

/** Whether the same request may succeed when it is repeated unchanged: true for 429 and 5xx. */
export const isRetryable = (code: ErrorCode): boolean =>
  ERRORS[code].status === 429 || ERRORS[code].status >= 500;

interface ServiceErrorOptions extends ProblemMembers {
  /** Public text. Default: that of the error table. */
  detail?: string;
  /** The underlying error; logged, never sent. */
  cause?: unknown;
  /** Seconds for `Retry-After`. Default: those of the error table. */
  retryAfter?: number;
}

/** An expected error with a public code and text, thrown by any module. Any other error becomes `internal`. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly detail: string;
  readonly members: ProblemMembers;
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, options: ServiceErrorOptions = {}) {
    const { detail, cause, retryAfter, ...members } = options;
    const entry: ErrorEntry = ERRORS[code];
    super(detail ?? entry.detail, { cause });
    this.code = code;
    this.detail = this.message;
    this.members = members;
    this.retryAfter = retryAfter ?? entry.retryAfter;
  }
}

/**
 * Maximum number of faults in an error response. Together with the limits below it bounds the size of the response.
 */
export const MAX_FAULTS = 20;
/** Maximum length of all faults as JSON, in UTF-16 code units. In UTF-8 that is at most three times as many bytes. */
const MAX_FAULTS_LENGTH = 20_000;
const MAX_POINTER_LENGTH = 200;
const MAX_MESSAGE_LENGTH = 1000;

/** Shortens a text to at most `length` UTF-16 code units. */
export const cutText = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;

/**
 * Creates an `invalid_input` error with the first faults, at most 20 of them and at most 60 KB; `moreErrors` counts
 * the others.
 *
 * @param omitted number of further faults that are not in `faults`
 * @param most maximum number of faults that the response names. Default: 20
 */
export function invalidInput(faults: readonly Fault[], omitted = 0, most = MAX_FAULTS): ServiceError {
  const errors: Fault[] = [];
  let length = 0;
  for (const fault of faults.slice(0, most)) {
    const pointer = cutText(fault.pointer, MAX_POINTER_LENGTH);
    const message = cutText(fault.message, MAX_MESSAGE_LENGTH);
    length += JSON.stringify({ pointer, message }).length;
    if (length > MAX_FAULTS_LENGTH) break;
    errors.push({ pointer, message });
  }
  const moreErrors = faults.length - errors.length + omitted;
  return new ServiceError('invalid_input', { errors, ...(moreErrors > 0 ? { moreErrors } : {}) });
}
