/**
 * The one table of everything that can go wrong in public: stable code -> HTTP status and texts.
 * Routes, workflow, OpenAPI and docs all read it; a test fails when any of them knows a code that is not here.
 *
 * `detail` is the default public text; whoever raises the error may give a better one. It never holds what only
 * we may know (addresses behind a name, stack traces): that belongs in `cause`, which is logged and never sent.
 */
interface ErrorEntry {
  status: number;
  title: string;
  detail: string;
  /** Seconds for `Retry-After`, where waiting helps. */
  retryAfter?: number;
}

export const ERRORS = {
  malformed_json: { status: 400, title: 'Malformed JSON', detail: 'The request body is not a JSON object.' },
  invalid_header: { status: 400, title: 'Invalid header', detail: 'A request header has an invalid value.' },
  missing_api_key: {
    status: 401,
    title: 'Missing API key',
    detail: 'Send your key as "Authorization: Bearer <API_KEY>".',
  },
  invalid_api_key: {
    status: 401,
    title: 'Invalid API key',
    detail: 'The API key is unknown, revoked or expired.',
  },
  insufficient_credits: {
    status: 402,
    title: 'Insufficient credits',
    detail: 'The account has fewer credits available than this call costs.',
  },
  price_above_max: {
    status: 402,
    title: 'Price above maximum',
    detail: 'The call costs more than X-Max-Credits allows.',
  },
  tool_not_allowed: { status: 403, title: 'Tool not allowed', detail: 'This key may not call this tool.' },
  insufficient_scope: {
    status: 403,
    title: 'Insufficient scope',
    detail: 'This key lacks the scope for this.',
  },
  account_suspended: {
    status: 403,
    title: 'Account suspended',
    detail: 'The account is suspended until its outstanding credits are settled.',
  },
  unknown_tool: {
    status: 404,
    title: 'Unknown tool',
    detail: 'There is no such tool. GET /api/v1/tools lists them.',
  },
  not_found: { status: 404, title: 'Not found', detail: 'There is nothing at this address.' },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    detail: 'This address does not take this method; see the Allow header.',
  },
  idempotency_key_used: {
    status: 409,
    title: 'Idempotency key used',
    detail:
      'This key was used for a call whose secrets are not kept, so it can be neither compared nor replayed.',
  },
  endpoint_disabled: { status: 409, title: 'Endpoint disabled', detail: 'The webhook endpoint is disabled.' },
  limit_reached: {
    status: 409,
    title: 'Limit reached',
    detail: 'The account already has as many as it may.',
  },
  rotation_pending: {
    status: 409,
    title: 'Rotation pending',
    detail: 'An earlier secret is still waiting to be activated.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    detail: 'The request body is larger than this address takes.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    detail: 'Send the body as application/json, in UTF-8, without Content-Encoding.',
  },
  invalid_input: {
    status: 422,
    title: 'Invalid input',
    detail: 'The input does not meet the schema; "errors" names the faults.',
  },
  idempotency_key_mismatch: {
    status: 422,
    title: 'Idempotency key mismatch',
    detail: 'This key was used for another tool or another body.',
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
    detail: 'The downloaded file is larger than this tool takes.',
  },
  unsupported_source: {
    status: 422,
    title: 'Unsupported source',
    detail: 'The downloaded file is of a type this tool does not take.',
  },
  corrupt_source: { status: 422, title: 'Corrupt source', detail: 'The downloaded file is damaged.' },
  output_too_large: { status: 422, title: 'Output too large', detail: 'The result is larger than 50 MB.' },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    detail: 'Too many requests; wait as Retry-After says.',
    retryAfter: 1,
  },
  internal: { status: 500, title: 'Internal error', detail: 'The fault is ours and has been logged.' },
  target_failed: {
    status: 502,
    title: 'Target failed',
    detail: 'The target refused the connection or broke the protocol.',
  },
  pool_busy: {
    status: 503,
    title: 'Pool busy',
    detail: 'No worker was free in time; nothing ran and nothing was charged.',
    retryAfter: 5,
  },
  tool_unavailable: {
    status: 503,
    title: 'Tool unavailable',
    detail: 'This installation lacks a program that the tool needs.',
    retryAfter: 300,
  },
  feed_unavailable: {
    status: 503,
    title: 'Feed unavailable',
    detail: 'No quote has been received yet.',
    retryAfter: 60,
  },
  target_timeout: { status: 504, title: 'Target timed out', detail: 'The target was too slow.' },
  deadline_exceeded: {
    status: 504,
    title: 'Deadline exceeded',
    detail: 'The work ran out of time; nothing was charged.',
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** One fault of an input: a JSON Pointer (RFC 6901) into the body, and what is wrong there. */
export interface Fault {
  pointer: string;
  message: string;
}

/** Public members beyond the RFC 9457 ones. */
export interface ProblemMembers {
  errors?: Fault[];
  /** How many more faults there are than `errors` lists. */
  moreErrors?: number;
  available?: number;
  cost?: number;
}

export const isErrorCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(ERRORS, code);

/**
 * The same request would always get this refusal, so it may stay bound to an Idempotency-Key and be replayed;
 * anything else (402, 429, 5xx, a cancel) may go better next time and releases the key.
 */
export const isFinalRefusal = (code: ErrorCode): boolean => ERRORS[code].status === 422;

interface ServiceErrorOptions extends ProblemMembers {
  /** Public text instead of the table's. */
  detail?: string;
  /** For the log only. */
  cause?: unknown;
  /** Seconds for `Retry-After` instead of the table's. */
  retryAfter?: number;
}

/** Raise this, in whatever layer, for anything the caller is to be told; everything else becomes `internal`. */
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

/** How much an error tells: of an input with very many faults, or with very long names, not all of it is repeated. */
export const MAX_FAULTS = 20;
/** UTF-16 code units of JSON; at most three times as many bytes. */
const MAX_FAULTS_LENGTH = 16_384;
const MAX_POINTER_LENGTH = 200;
const MAX_MESSAGE_LENGTH = 1000;

/** Cuts a text to so many UTF-16 code units. */
export const cutText = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;

/**
 * `invalid_input` with the first faults, at most 20 and 48 KB of them; `moreErrors` counts the others.
 *
 * @param untold faults beyond those of the list
 */
export function invalidInput(faults: readonly Fault[], untold = 0): ServiceError {
  const errors: Fault[] = [];
  let length = 0;
  for (const fault of faults.slice(0, MAX_FAULTS)) {
    const pointer = cutText(fault.pointer, MAX_POINTER_LENGTH);
    const message = cutText(fault.message, MAX_MESSAGE_LENGTH);
    length += JSON.stringify({ pointer, message }).length;
    if (length > MAX_FAULTS_LENGTH) break;
    errors.push({ pointer, message });
  }
  const moreErrors = faults.length - errors.length + untold;
  return new ServiceError('invalid_input', { errors, ...(moreErrors > 0 ? { moreErrors } : {}) });
}
