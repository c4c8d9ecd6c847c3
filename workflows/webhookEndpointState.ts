import { MAX_FAILURES } from '../schemas/webhookLimits.ts';
import type { EndpointHealth as Health, Outcome } from '../store/webhooks/endpointState.ts';

/** State of a delivery and the time of its next attempt. */
export type DeliveryStatus = Pick<Outcome, 'state' | 'nextAt'>;

/**
 * Maximum number of concurrent attempts of an endpoint without failures. Far below MAX_FAILURES, so that one short
 * outage cannot disable the endpoint.
 */
export const MAX_CONCURRENT_ATTEMPTS = 5;
const MAX_BACKOFF_MS = 3_600_000;
/** Maximum random extension of the wait before a retry, as a fraction of the wait. */
const JITTER = 0.2;

export const HEALTHY: Health = {
  state: 'active',
  failures: 0,
  epoch: 0,
  notBefore: null,
  disabledAt: null,
};

export const disabled = (health: Health, now: number): Health =>
  health.state === 'disabled' ? health : { ...health, state: 'disabled', notBefore: null, disabledAt: now };

export const enabled = (health: Health): Health => ({ ...HEALTHY, epoch: health.epoch + 1 });

/**
 * Returns the health after an attempt that started in `epoch`. Attempts that started before the endpoint was last
 * enabled do not count, and a disabled endpoint stays disabled. The wait doubles with each consecutive failure, up to
 * an hour.
 *
 * @param firstStepMs first wait of the retry schedule
 */
export function nextHealth(
  health: Health,
  { ok, epoch }: { ok: boolean; epoch: number },
  now: number,
  firstStepMs: number,
): Health {
  if (epoch !== health.epoch || health.state === 'disabled') return health;
  if (ok) return { ...health, failures: 0, notBefore: null };
  const failures = health.failures + 1;
  if (failures >= MAX_FAILURES) return disabled({ ...health, failures }, now);
  const backoff = Math.min(firstStepMs * 2 ** (failures - 1), MAX_BACKOFF_MS);
  return { ...health, failures, notBefore: now + backoff };
}

/**
 * Returns how many attempts may start now in addition to the running ones. After a failure only one attempt runs at a
 * time.
 */
export function freeAttempts({ state, failures, notBefore }: Health, running: number, now: number): number {
  if (state === 'disabled') return 0;
  if (failures === 0) return Math.max(0, MAX_CONCURRENT_ATTEMPTS - running);
  return running === 0 && now >= (notBefore ?? 0) ? 1 : 0;
}

/**
 * Returns the status of a delivery after its attempt number `tries`. The receiver's `Retry-After` extends the wait to
 * at most twice the scheduled one.
 *
 * @param scheduleMs waits between attempts; an attempt after the last wait fails the delivery
 * @param spread random position within the jitter, 0 to 1
 */
export function nextDeliveryStatus(
  { ok, tries, retryAfterMs }: { ok: boolean; tries: number; retryAfterMs: number | null },
  scheduleMs: readonly number[],
  spread: number,
  now: number,
): DeliveryStatus {
  if (ok) return { state: 'delivered', nextAt: null };
  const step = scheduleMs[tries - 1];
  if (step === undefined) return { state: 'failed', nextAt: null };
  const wait = step * (1 + JITTER * spread);
  return {
    state: 'pending',
    nextAt: now + Math.round(Math.min(Math.max(wait, retryAfterMs ?? 0), 2 * step)),
  };
}
