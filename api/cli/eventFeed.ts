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
/** Events are listed by when they happened, and may be written down somewhat later: so far back is looked again. */
const OVERLAP_MS = 60_000;
const ANSWER_MS = 15_000;

async function fetchPage(baseUrl: string, key: string, cursor: string | null, signal: AbortSignal) {
  const query = new URLSearchParams({ limit: `${LIMIT}`, ...(cursor !== null && { cursor }) });
  const response = await fetch(`${baseUrl}/api/v1/account/events?${query}`, {
    headers: { Authorization: `Bearer ${key}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
  });
  if (response.status === 401 || response.status === 403)
    throw new CommandError('the key is not one that may manage the account (--key)');
  if (!response.ok) throw new Error(`${baseUrl} answered ${response.status}`);
  const page: EventPage = await response.json();
  return page;
}

/** Reads an account's events as they happen, over the Account API. */
export interface EventFeed {
  /** Those that were not there the last time, oldest first; the first time, none. @throws CommandError: wrong key */
  next(signal: AbortSignal): Promise<ListedEvent[]>;
}

export function createEventFeed(baseUrl: string, key: string): EventFeed {
  const seen = new Map<string, number>();
  let newest: number | null = null;
  return {
    async next(signal) {
      const from: number = (newest ?? Number.POSITIVE_INFINITY) - OVERLAP_MS;
      const fresh: ListedEvent[] = [];
      let cursor: string | null = null;
      do {
        const page: EventPage = await fetchPage(baseUrl, key, cursor, signal);
        const wanted = page.items.filter(({ createdAt }) => newest === null || Date.parse(createdAt) >= from);
        fresh.push(...wanted.filter(({ id }) => !seen.has(id)));
        cursor = newest === null || wanted.length < page.items.length ? null : page.nextCursor;
      } while (cursor !== null);

      const isFirst = newest === null;
      for (const { id, createdAt } of fresh) {
        const at = Date.parse(createdAt);
        seen.set(id, at);
        newest = Math.max(newest ?? 0, at);
      }
      newest ??= 0;
      for (const [id, at] of seen) if (at < newest - 2 * OVERLAP_MS) seen.delete(id);
      return isFirst ? [] : fresh.reverse();
    },
  };
}
