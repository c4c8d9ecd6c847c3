import { setTimeout as sleep } from 'node:timers/promises';

const DAY_MS = 86_400_000;

/**
 * Waits for midnight (UTC) if less than this time of the current day is left. A test whose expectations hold within one
 * day, such as the spend of a daily budget, calls this first.
 *
 * @param neededMs longer than the test takes on a loaded machine
 */
export async function untilDayLasts(neededMs = 60_000): Promise<void> {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < neededMs) await sleep(leftMs);
}
