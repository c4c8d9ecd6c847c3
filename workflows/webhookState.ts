import { MAX_FAILURES } from '../schemas/webhookLimits.ts';

/** Whether an endpoint may be posted to. Times are epoch milliseconds. */
export interface Health {
  state: 'active' | 'disabled';
  /** Failed attempts in a row. */
  failures: number;
  /** Times it was enabled. */
  epoch: number;
  /** No attempt before this. */
  notBefore: number | null;
  disabledAt: number | null;
}

/** Where a delivery stands. */
export interface DeliveryStatus {
  state: 'pending' | 'delivered' | 'failed' | 'held';
  nextAt: number | null;
}

/** Attempts of one endpoint at once while it is healthy: far below what disables it, so that no moment alone can. */
export const MAX_CONCURRENT_ATTEMPTS = 5;
const LONGEST_HOLD_MS = 3_600_000;
/** Retries are spread over so much more than their step. */
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
 * After an attempt that began in `epoch`. What is disabled stays so until somebody enables it, and what began before that
 * no longer counts.
 *
 * @param firstStepMs of the retry schedule
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
  const hold = Math.min(firstStepMs * 2 ** (failures - 1), LONGEST_HOLD_MS);
  return { ...health, failures, notBefore: now + hold };
}

/** How many more attempts may begin now, beside those that run: one at a time as long as the last one failed. */
export function freeAttempts({ state, failures, notBefore }: Health, running: number, now: number): number {
  if (state === 'disabled') return 0;
  if (failures === 0) return Math.max(0, MAX_CONCURRENT_ATTEMPTS - running);
  return running === 0 && now >= (notBefore ?? 0) ? 1 : 0;
}

/**
 * What becomes of a delivery after its attempt number `tries`. The receiver's wish to be left alone is followed within
 * twice the step.
 *
 * @param scheduleMs waits between the attempts; after the last of them it has failed
 * @param spread from 0 to 1: where in the jitter the wait falls
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
