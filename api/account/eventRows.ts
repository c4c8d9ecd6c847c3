import type { EventRow } from '../../schemas/accountRows.ts';
import type { Lists } from '../../store/accounts/lists.ts';
import type { Page, PageRequest } from '../../store/mongo/pages.ts';
import type { EventFilter } from '../../store/webhooks/eventPages.ts';
import { eventRow } from './rows.ts';

/** Reads a page of events with their deliveries, for the Account API and the dashboard. */
export async function eventRows(
  lists: Lists,
  accountId: string,
  filter: EventFilter,
  page: PageRequest,
): Promise<Page<EventRow>> {
  const { items, nextCursor } = await lists.events(accountId, filter, page);
  const deliveries = await lists.deliveries(items.map(({ _id }) => _id));
  return { items: items.map((event) => eventRow(event, deliveries.get(event._id) ?? [])), nextCursor };
}
