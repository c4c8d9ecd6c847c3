import { ApiError, type ConnectionError } from './errors.ts';

/** Codes that repeating the same request within seconds can turn into a result. */
const TRANSIENT: readonly string[] = [
  'rate_limited',
  'pool_busy',
  'feed_unavailable',
  'tool_unavailable',
  'internal',
];
/** Statuses of proxies that could not reach the service, or were told to wait. */
const PROXY_STATUSES: readonly number[] = [408, 429, 500, 502, 503, 504];
const MAX_DELAY_MS = 8_000;

/** What may be repeated without a second effect. */
export interface Repeatable {
  /** The request may be sent again although it may have arrived: it has an idempotency key, or no effect beyond the first. */
  always: boolean;
  /**
   * The service refuses a key that it has already seen with `idempotency_key_used`, because the tool has secret fields. It
   * frees the key once it has noticed the lost connection of an earlier attempt.
   */
  keyIsFreed: boolean;
}

/**
 * Whether a failed attempt may be repeated. A refusal by the service itself with 429 or 503 had no effect; after anything
 * else the request may have run.
 *
 * @param isUncertain true if an earlier attempt may have arrived
 */
export function mayRetry(
  error: ApiError | ConnectionError,
  { always, keyIsFreed }: Repeatable,
  isUncertain: boolean,
): boolean {
  if (error instanceof ApiError) {
    if (error.code === 'idempotency_key_used') return keyIsFreed && isUncertain;
    return TRANSIENT.includes(error.code) && (always || error.status === 429 || error.status === 503);
  }
  return always && (error.status === null || PROXY_STATUSES.includes(error.status));
}

/**
 * Milliseconds before the next attempt: those that the service asks for, else a delay that doubles with each attempt, with
 * jitter so that clients do not return all at once.
 */
export function retryDelay(attempt: number, firstMs: number, retryAfterMs: number | null): number {
  const backoff = Math.min(MAX_DELAY_MS, firstMs * 2 ** (attempt - 1));
  return Math.max(retryAfterMs ?? 0, backoff * (0.5 + Math.random() / 2));
}
