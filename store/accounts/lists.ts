import type { FindCursor } from 'mongodb';
import { CALL_PAGE_INDEXES, type CallDoc } from '../calls/callDocs.ts';
import { allCalls, type CallFilter, pageOfCalls } from '../calls/callPages.ts';
import type { RefusalDoc } from '../calls/refusalDocs.ts';
import { findRefusal, pageOfRefusals, type RefusalFilter } from '../calls/refusals.ts';
import { ONLY_KEYS } from '../keys/apiKeys.ts';
import type { ApiKeyDoc } from '../keys/keyDocs.ts';
import { copyJournal } from '../ledger/copyJournal.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByNumber, pageByTime } from '../mongo/pages.ts';
import { type EventFilter, pageOfEvents } from '../webhooks/eventPages.ts';
import type {
  DeliveryAttemptDoc,
  DeliveryDoc,
  EventDoc,
  NoticeDoc,
  WebhookEndpointDoc,
} from '../webhooks/webhookDocs.ts';
import type { AccountDoc, EntryDoc, GrantDoc } from './accountDocs.ts';
import type { SecurityEventDoc } from './securityDocs.ts';

/** Lists for owners and operators, newest first. */
export interface Lists {
  calls(accountId: string, filter: CallFilter, page: PageRequest): Promise<Page<CallDoc>>;
  /** Returns a cursor over all matching calls, newest first. */
  allCalls(accountId: string, filter: CallFilter): Promise<FindCursor<CallDoc>>;
  /** The call with this id or this request id; null if there is none. */
  call(accountId: string, id: string): Promise<CallDoc | null>;
  /** The running call that was started from the form with this id; null if there is none. */
  runOf(accountId: string, formId: string): Promise<CallDoc | null>;
  /** Requests that were refused before they became calls. Those of the last seconds can be missing. */
  refusals(accountId: string, filter: RefusalFilter, page: PageRequest): Promise<Page<RefusalDoc>>;
  /** The refusals that include the request with this id; null if there are none. */
  refusal(accountId: string, requestId: string): Promise<RefusalDoc | null>;
  /** The newest calls that ended with an error. Those of the last moments can be missing, because they are in the journal. */
  failures(accountId: string, limit: number): Promise<CallDoc[]>;
  entries(accountId: string, page: PageRequest): Promise<Page<EntryDoc>>;
  /** Returns a cursor over all ledger entries of the account, newest first. */
  statement(accountId: string): Promise<FindCursor<EntryDoc>>;
  grants(accountId: string, page: PageRequest): Promise<Page<GrantDoc>>;
  keys(accountId: string, page: PageRequest): Promise<Page<ApiKeyDoc>>;
  events(accountId: string, filter: EventFilter, page: PageRequest): Promise<Page<EventDoc>>;
  securityEvents(accountId: string, page: PageRequest): Promise<Page<SecurityEventDoc>>;
  /** The emails of the last days to the owner, sent or waiting. */
  notices(accountId: string, page: PageRequest): Promise<Page<NoticeDoc>>;
  /** Returns the deliveries of the events, by event id. */
  deliveries(eventIds: readonly string[]): Promise<Map<string, DeliveryDoc[]>>;
  /** Returns a delivery and its event; null if there is none. */
  delivery(accountId: string, id: string): Promise<{ delivery: DeliveryDoc; event: EventDoc } | null>;
  webhooks(accountId: string, page: PageRequest): Promise<Page<WebhookEndpointDoc>>;
  attempts(endpointId: string, page: PageRequest): Promise<Page<DeliveryAttemptDoc>>;
  /** For operators: all accounts, or the one with this email address. */
  accounts(filter: { email?: string }, page: PageRequest): Promise<Page<AccountDoc>>;
}

/** Entries that the cursor of a statement reads at once, so that a slow reader needs little memory. */
const STATEMENT_BATCH = 1000;

export function createLists(store: Store): Lists {
  const { accounts, apiKeys, calls, entries, grants } = store;
  const { deliveries, deliveryAttempts, events, webhookEndpoints } = store;
  return {
    async calls(accountId, filter, page) {
      await copyJournal(store, accountId);
      return pageOfCalls(store, accountId, filter, page);
    },

    async allCalls(accountId, filter) {
      await copyJournal(store, accountId);
      return allCalls(store, accountId, filter);
    },

    async call(accountId, id) {
      await copyJournal(store, accountId);
      const call = await calls.findOne({ _id: id, accountId });
      if (call !== null) return call;
      // A request that pays for credits calls its tool a second time.
      const ofRequest = await calls.find({ accountId, requestId: id }).limit(2).toArray();
      return ofRequest.sort((a, b) => b.startedAt.getTime() - a.startedAt.getTime())[0] ?? null;
    },

    runOf: (accountId, formId) =>
      calls.findOne({ accountId, state: 'running', formId }, { hint: CALL_PAGE_INDEXES.inState }),

    refusals: (accountId, filter, page) => pageOfRefusals(store, accountId, filter, page),
    refusal: (accountId, requestId) => findRefusal(store, accountId, requestId),

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
      return entries.find({ accountId }).sort({ seq: -1 }).batchSize(STATEMENT_BATCH);
    },

    grants: (accountId, page) =>
      pageByTime('grants', (condition) => grants.find({ accountId, ...condition }), 'at', page),

    keys: (accountId, page) =>
      pageByTime(
        'keys',
        (condition) => apiKeys.find({ accountId, ...ONLY_KEYS, ...condition }),
        'createdAt',
        page,
      ),

    events: (accountId, filter, page) => pageOfEvents(store, accountId, filter, page),

    securityEvents: (accountId, page) =>
      pageByTime(
        'security',
        (condition) => store.securityEvents.find({ accountId, ...condition }),
        'at',
        page,
      ),

    notices: (accountId, page) =>
      pageByTime('notices', (condition) => store.notices.find({ accountId, ...condition }), 'at', page),

    async deliveries(eventIds) {
      const rows = await deliveries.find({ eventId: { $in: [...eventIds] } }).toArray();
      return Map.groupBy(rows, ({ eventId }) => eventId);
    },

    async delivery(accountId, id) {
      const delivery = await deliveries.findOne({ _id: id, accountId });
      const event = delivery && (await events.findOne({ _id: delivery.eventId }));
      return delivery && event && { delivery, event };
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
