import { setTimeout as sleep } from 'node:timers/promises';

/** The sweeper ends open calls within a minute; the rest is a margin for loaded machines. */
const SETTLED_WITHIN_MS = 90_000;
const POLL_INTERVAL_MS = 50;

/** Polls until the result is neither null nor false. @throws when `withinMs` have passed */
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
