import type { FindCursor } from 'mongodb';
import { type CallFilter, pageOfCalls } from './callPages.ts';
import { type EventFilter, pageOfEvents } from './eventPages.ts';
import { copyJournal } from './journal.ts';
import type { AccountDoc, ApiKeyDoc, CallDoc, EntryDoc, EventDoc, GrantDoc, Store } from './mongo.ts';
import { type Page, type PageRequest, pageByNumber, pageByTime } from './pages.ts';
import type { DeliveryAttemptDoc, DeliveryDoc, WebhookEndpointDoc } from './webhookDocs.ts';

/** Lists for owners and operators, newest first. */
export interface Lists {
  calls(accountId: string, filter: CallFilter, page: PageRequest): Promise<Page<CallDoc>>;
  /** The call with this id or this request id; null if there is none. */
  call(accountId: string, id: string): Promise<CallDoc | null>;
  /** The newest calls without a result. The newest of all may be missing until their journal entries are copied. */
  failures(accountId: string, limit: number): Promise<CallDoc[]>;
  entries(accountId: string, page: PageRequest): Promise<Page<EntryDoc>>;
  /** Returns a cursor over all ledger entries of the account, newest first. */
  statement(accountId: string): Promise<FindCursor<EntryDoc>>;
  /** Returns the newest grants, at most `limit`. */
  grants(accountId: string, limit: number): Promise<GrantDoc[]>;
  keys(accountId: string, page: PageRequest): Promise<Page<ApiKeyDoc>>;
  events(accountId: string, filter: EventFilter, page: PageRequest): Promise<Page<EventDoc>>;
  /** Returns the deliveries of the events, by event id. */
  deliveries(eventIds: readonly string[]): Promise<Map<string, DeliveryDoc[]>>;
  webhooks(accountId: string, page: PageRequest): Promise<Page<WebhookEndpointDoc>>;
  attempts(endpointId: string, page: PageRequest): Promise<Page<DeliveryAttemptDoc>>;
  /** For operators: all accounts, or the one with this email address. */
  accounts(filter: { email?: string }, page: PageRequest): Promise<Page<AccountDoc>>;
}

export function createLists(store: Store): Lists {
  const { accounts, apiKeys, calls, entries, grants } = store;
  const { deliveries, deliveryAttempts, webhookEndpoints } = store;
  return {
    async calls(accountId, filter, page) {
      await copyJournal(store, accountId);
      return pageOfCalls(store, accountId, filter, page);
    },

    async call(accountId, id) {
      await copyJournal(store, accountId);
      return (
        (await calls.findOne({ _id: id, accountId })) ?? (await calls.findOne({ accountId, requestId: id }))
      );
    },

    async failures(accountId, limit) {
      const states = ['refunded', 'refused'] as const;
      const pages = await Promise.all(
        states.map((state) => pageOfCalls(store, accountId, { state }, { limit })),
      );
      return pages
        .flatMap(({ items }) => items)
        .sort((a, b) => b.startedAt.getTime() - a.startedAt.getTime())
        .slice(0, limit);
    },

    async entries(accountId, page) {
      await copyJournal(store, accountId);
      return pageByNumber('ledger', (condition) => entries.find({ accountId, ...condition }), page);
    },

    async statement(accountId) {
      await copyJournal(store, accountId);
      return entries.find({ accountId }).sort({ seq: -1 });
    },

    grants: (accountId, limit) => grants.find({ accountId }).sort({ at: -1 }).limit(limit).toArray(),

    keys: (accountId, page) =>
      pageByTime('keys', (condition) => apiKeys.find({ accountId, ...condition }), 'createdAt', page),

    events: (accountId, filter, page) => pageOfEvents(store, accountId, filter, page),

    async deliveries(eventIds) {
      const rows = await deliveries.find({ eventId: { $in: [...eventIds] } }).toArray();
      return Map.groupBy(rows, ({ eventId }) => eventId);
    },

    webhooks: (accountId, page) =>
      pageByTime(
        'webhooks',
        (condition) => webhookEndpoints.find({ accountId, ...condition }),
        'createdAt',
        page,
      ),

    attempts: (endpointId, page) =>
      pageByTime('attempts', (condition) => deliveryAttempts.find({ endpointId, ...condition }), 'at', page),

    accounts: ({ email }, page) =>
      pageByTime(
        'accounts',
        (condition) =>
          accounts.find({ ...condition, ...(email !== undefined && { email: email.toLowerCase() }) }),
        'createdAt',
        page,
      ),
  };
}
