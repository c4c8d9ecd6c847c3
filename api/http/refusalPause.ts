import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';

/**
 * Milliseconds before a client above a limit gets its refusal. A connection has one request in work at a time, so that the refusals
 * of a client that does not wait cost one core a few percent, not all of it.
 */
const PAUSE_MS = 1000;
/** Milliseconds between two such refusals of a client, on however many connections. */
const STEP_MS = 50;
const LONGEST_MS = 10_000;
/** Number of clients whose latest refusal a process remembers. */
const CLIENTS = 10_000;

/** When the latest refusal of each client is sent, as `performance.now()`. */
const latest = new LRUCache<string, number>({ max: CLIENTS });

/** Waits before a refusal. @param client the address or the account that is above a limit */
export async function pauseRefusal(client: string): Promise<void> {
  const now = performance.now();
  const next = Math.max(now + PAUSE_MS, (latest.get(client) ?? 0) + STEP_MS);
  const at = Math.min(next, now + LONGEST_MS);
  latest.set(client, at);
  await sleep(at - now, undefined, { ref: false });
}
