import { setTimeout as sleep } from 'node:timers/promises';

/**
 * How long to wait until the sweeper has ended open calls: it does so within one minute, and the rest is a margin for
 * loaded machines.
 */
const SETTLED_WITHIN_MS = 90_000;
const POLL_INTERVAL_MS = 50;

/** Calls the function repeatedly until its result is neither null nor false. @throws after `withinMs` */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null | false>,
  withinMs = SETTLED_WITHIN_MS,
): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== false) return answer;
    if (Date.now() > end) throw new Error(`timed out waiting for: ${what}`);
    await sleep(POLL_INTERVAL_MS);
  }
}
