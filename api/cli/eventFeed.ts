import { setTimeout as sleep } from 'node:timers/promises';
import { CommandError } from './addresses.ts';

/** An event as the Account API lists it. */
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
/** Events are listed by when they happened, and are written down somewhat later: so far back is always looked again. */
const RECENT_MS = 10_000;
/** What a crash left is written down minutes later: so far back is looked the first time, and every so many times. */
const LATE_MS = 600_000;
const LATE_EVERY = 10;
const ANSWER_MS = 15_000;

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
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    });
    if (response.ok) return response.json();
    await response.body?.cancel();
    if (response.status === 401 || response.status === 403)
      throw new CommandError('the key is not one that may manage the account (--key)');
    if (response.status !== 429) throw new Error(`${baseUrl} answered ${response.status}`);
    // To begin anew would be refused anew where there are many pages.
    await sleep(Number(response.headers.get('Retry-After') ?? 1) * 1000, undefined, { signal });
  }
}

/** Reads an account's events as they happen, over the Account API. */
export interface EventFeed {
  /** Those that were not there the last time, oldest first; the first time, none. @throws CommandError: wrong key */
  next(signal: AbortSignal): Promise<ListedEvent[]>;
}

export function createEventFeed(baseUrl: string, key: string): EventFeed {
  /** When those happened that can be listed again. */
  const seen = new Map<string, number>();
  let newest: number | null = null;
  let looks = 0;
  return {
    async next(signal) {
      const back = looks % LATE_EVERY === 0 ? LATE_MS : RECENT_MS;
      const fresh: ListedEvent[] = [];
      let from: number | null = newest === null ? null : newest - back;
      let cursor: string | null = null;
      do {
        const { items, nextCursor }: EventPage = await fetchPage(baseUrl, key, cursor, signal);
        const [first] = items;
        from ??= first === undefined ? 0 : Date.parse(first.createdAt) - back;
        const since = from;
        const wanted = items.filter(({ createdAt }) => Date.parse(createdAt) >= since);
        fresh.push(...wanted.filter(({ id }) => !seen.has(id)));
        cursor = wanted.length < items.length ? null : nextCursor;
      } while (cursor !== null);

      // Only now: what is asked for again after an error comes whole.
      const isFirst = newest === null;
      looks += 1;
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
