import { ApiError, type ConnectionError } from './errors.ts';

/** Error codes after which the same request may succeed within seconds. */
const TRANSIENT: readonly string[] = [
  'rate_limited',
  'pool_busy',
  'feed_unavailable',
  'tool_unavailable',
  'internal',
];
/** Statuses with which a proxy reports that the service is unreachable or overloaded. */
const PROXY_STATUSES: readonly number[] = [408, 429, 500, 502, 503, 504];
const MAX_DELAY_MS = 8_000;

/** The properties of a request that decide whether it may be repeated. */
export interface Repeatable {
  /** The request may be repeated even if it has already run: it has an idempotency key, or it is idempotent. */
  always: boolean;
  /**
   * The tool has secret fields, so the service rejects a key that it has already seen (`idempotency_key_used`). It releases
   * the key when it detects that the connection of the earlier attempt was lost.
   */
  keyIsFreed: boolean;
  /** Code of an error that every repetition would get again: that of the failed job whose result is requested. */
  finalCode?: string;
}

/**
 * Whether a failed attempt may be repeated. After a 429 or 503 from the service itself, the request had no effect; after any
 * other failure, it may have run.
 *
 * @param isUncertain true if an earlier attempt may have arrived
 */
export function mayRetry(
  error: ApiError | ConnectionError,
  { always, keyIsFreed, finalCode }: Repeatable,
  isUncertain: boolean,
): boolean {
  if (error instanceof ApiError) {
    if (error.code === finalCode) return false;
    if (error.code === 'idempotency_key_used') return keyIsFreed && isUncertain;
    return TRANSIENT.includes(error.code) && (always || error.status === 429 || error.status === 503);
  }
  return always && (error.status === null || PROXY_STATUSES.includes(error.status));
}

/**
 * Milliseconds before the next attempt: a delay that doubles with each attempt, with jitter so that clients do not retry at
 * the same time, and at least the delay of `Retry-After`.
 */
export function retryDelay(attempt: number, firstMs: number, retryAfterMs: number | null): number {
  const backoff = Math.min(MAX_DELAY_MS, firstMs * 2 ** (attempt - 1));
  return Math.max(retryAfterMs ?? 0, backoff * (0.5 + Math.random() / 2));
}
