import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from './addresses.ts';

/** An event, as the Account API returns it. */
export interface ListedEvent {
  id: string;
  event: string;
  createdAt: string;
  data: unknown;
}

interface EventPage {
  items: ListedEvent[];
  nextCursor: string | null;
}

const LIMIT = 100;
/**
 * How far a poll reaches back before the newest known event: events are sorted by the time at which they occurred,
 * but become visible slightly later.
 */
const RECENT_MS = 10_000;
/**
 * How far the first poll and then every tenth poll reach back: after a crash, events can become visible minutes
 * later.
 */
const LATE_MS = 600_000;
const LATE_EVERY = 10;
const REQUEST_TIMEOUT_MS = 15_000;

async function fetchPage(
  baseUrl: string,
  key: string,
  cursor: string | null,
  signal: AbortSignal,
): Promise<EventPage> {
  const query = new URLSearchParams({ limit: `${LIMIT}`, ...(cursor !== null && { cursor }) });
  for (;;) {
    const response = await fetch(`${baseUrl}/api/v1/account/events?${query}`, {
      headers: { Authorization: `Bearer ${key}` },
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    });
    if (response.ok) return response.json();
    await response.body?.cancel();
    if (response.status === 401 || response.status === 403)
      throw new CommandError('the API key is invalid or lacks the scope "account": set another with --key');
    if (response.status !== 429) throw new Error(`${baseUrl} responded with ${response.status}`);
    // Retries this page, because restarting with the first page would reach the limit again.
    await sleep(Number(response.headers.get('Retry-After') ?? 1) * 1000, undefined, { signal });
  }
}

/** Polls an account's events through the Account API. */
interface EventFeed {
  /**
   * Returns the events since the previous call, oldest first; the first call returns none. @throws CommandError if
   * the key is invalid
   */
  next(signal: AbortSignal): Promise<ListedEvent[]>;
}

export function createEventFeed(baseUrl: string, key: string): EventFeed {
  /** By event id, the time of each event that a later poll can return again. */
  const seen = new Map<string, number>();
  let newest: number | null = null;
  let polls = 0;
  return {
    async next(signal) {
      const overlap = polls % LATE_EVERY === 0 ? LATE_MS : RECENT_MS;
      const fresh: ListedEvent[] = [];
      let from: number | null = newest === null ? null : newest - overlap;
      let cursor: string | null = null;
      do {
        const { items, nextCursor }: EventPage = await fetchPage(baseUrl, key, cursor, signal);
        const [first] = items;
        from ??= first === undefined ? 0 : Date.parse(first.createdAt) - overlap;
        const since = from;
        const recent = items.filter(({ createdAt }) => Date.parse(createdAt) >= since);
        fresh.push(...recent.filter(({ id }) => !seen.has(id)));
        cursor = recent.length < items.length ? null : nextCursor;
      } while (cursor !== null);

      // The state is updated only after all pages were read, so that a retry after an error returns every event.
      const isFirst = newest === null;
      polls += 1;
      for (const { id, createdAt } of fresh) {
        const at = Date.parse(createdAt);
        seen.set(id, at);
        newest = Math.max(newest ?? 0, at);
      }
      newest ??= 0;
      for (const [id, at] of seen) if (at < newest - LATE_MS) seen.delete(id);
      return isFirst ? [] : fresh.reverse();
    },
  };
}
