import { EVENT_KINDS, type EventKind } from '../../schemas/events.ts';
import type { Store } from '../mongo/mongo.ts';
import { asPage, olderThan, type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import type { DeliveryState, EventDoc } from './webhookDocs.ts';
import { MAX_ENDPOINTS } from './webhookEndpoints.ts';

export interface EventFilter {
  event?: EventKind | undefined;
  /** Only events with a delivery in this state. */
  state?: DeliveryState | undefined;
}

const LIST = 'events';

/**
 * Returns a page of events that have a delivery in this state. Queries the deliveries, whose index is ordered by the
 * time of their event.
 */
async function pageByDelivery(
  { events, deliveries }: Store,
  accountId: string,
  state: DeliveryState,
  kinds: readonly EventKind[],
  { limit, cursor }: PageRequest,
): Promise<Page<EventDoc>> {
  const rows = await deliveries
    .find({
      accountId,
      state,
      event: { $in: [...kinds] },
      ...olderThan(LIST, cursor, 'createdAt', 'eventId'),
    })
    .project<{ eventId: string }>({ _id: 0, eventId: 1 })
    .sort({ createdAt: -1, eventId: -1 })
    // An event has at most one delivery per endpoint, so this many deliveries belong to at least `limit + 1` events.
    .limit((limit + 1) * MAX_ENDPOINTS)
    .toArray();
  const ids = [...new Set(rows.map(({ eventId }) => eventId))].slice(0, limit + 1);
  const found = new Map((await events.find({ _id: { $in: ids } }).toArray()).map((row) => [row._id, row]));
  const items = ids.flatMap((id) => found.get(id) ?? []);
  return asPage(LIST, items, limit, ({ _id, createdAt }) => ({ value: createdAt.getTime(), id: _id }));
}

/** Returns a page of matching events, newest first. */
export function pageOfEvents(
  store: Store,
  accountId: string,
  { event, state }: EventFilter,
  page: PageRequest,
): Promise<Page<EventDoc>> {
  if (state !== undefined)
    return pageByDelivery(store, accountId, state, event === undefined ? EVENT_KINDS : [event], page);
  return pageByTime(
    LIST,
    (condition) => store.events.find({ accountId, ...(event !== undefined && { event }), ...condition }),
    'createdAt',
    page,
  );
}
