import type { Store } from './mongo.ts';

const NEWEST_CALL = { startedAt: -1, _id: -1 } as const;

/**
 * Indexes for pages of calls, one for each kind of filter: none, a tool (with or without a state), or only a state.
 */
export const CALL_INDEXES = {
  all: { accountId: 1, ...NEWEST_CALL },
  ofTool: { accountId: 1, tool: 1, state: 1, ...NEWEST_CALL },
  inState: { accountId: 1, state: 1, ...NEWEST_CALL },
  ofKey: { accountId: 1, keyId: 1, tool: 1, state: 1, ...NEWEST_CALL },
} as const;

/** Retention of notices in seconds. Longer than any retry, so that an owner is notified only once. */
const NOTICE_SECONDS = 14 * 86_400;

/** Retention of usage sums in seconds. Longer than the longest period for which usage is shown. */
const USAGE_SECONDS = 100 * 86_400;

/**
 * Retention of lease documents in seconds, far longer than a lease is valid. Expired leases count as absent anyway,
 * so this only removes the documents of killed processes.
 */
const API_PROCESS_SECONDS = 3600;

/** Creates missing indexes. Code that relies on a unique index says so in its comments. */
export async function ensureIndexes(store: Store): Promise<void> {
  await Promise.all([
    store.accounts.createIndex({ email: 1 }, { unique: true }),
    store.accounts.createIndex({ createdAt: -1, _id: -1 }),
    store.accounts.createIndex({ reserved: 1 }, { partialFilterExpression: { reserved: { $gt: 0 } } }),
    store.accounts.createIndex(
      { monthlyAllowance: 1 },
      { partialFilterExpression: { monthlyAllowance: { $gt: 0 } } },
    ),
    store.apiKeys.createIndex({ hash: 1 }, { unique: true }),
    store.apiKeys.createIndex(
      { 'previous.hash': 1 },
      { partialFilterExpression: { 'previous.hash': { $exists: true } } },
    ),
    store.apiKeys.createIndex({ accountId: 1, createdAt: -1, _id: -1 }),
    store.calls.createIndex(
      { accountId: 1, 'idempotency.key': 1 },
      { unique: true, partialFilterExpression: { 'idempotency.key': { $exists: true } } },
    ),
    ...Object.values(CALL_INDEXES).map((fields) => store.calls.createIndex(fields)),
    store.calls.createIndex({ accountId: 1, requestId: 1 }),
    store.calls.createIndex({ touchedAt: 1 }, { partialFilterExpression: { state: 'running' } }),
    store.calls.createIndex(
      { 'pendingAnswer.process': 1 },
      { partialFilterExpression: { pendingAnswer: { $exists: true } } },
    ),
    store.apiProcesses.createIndex({ renewedAt: 1 }, { expireAfterSeconds: API_PROCESS_SECONDS }),
    store.entries.createIndex({ accountId: 1, seq: -1 }, { unique: true }),
    store.usageDays.createIndex({ accountId: 1, day: -1 }),
    store.usageDays.createIndex({ day: 1 }, { expireAfterSeconds: USAGE_SECONDS }),
    store.grants.createIndex({ accountId: 1, at: -1 }),
    store.payments.createIndex({ accountId: 1, paidAt: -1 }),
    store.payments.createIndex({ forgetAt: 1 }, { expireAfterSeconds: 0 }),
    store.events.createIndex({ accountId: 1, createdAt: -1, _id: -1 }),
    store.events.createIndex({ accountId: 1, event: 1, createdAt: -1, _id: -1 }),
    store.events.createIndex({ createdAt: 1 }, { partialFilterExpression: { pending: true } }),
    store.webhookEndpoints.createIndex({ accountId: 1, createdAt: -1, _id: -1 }),
    store.deliveries.createIndex({ eventId: 1 }),
    store.deliveries.createIndex({ accountId: 1, state: 1, event: 1, createdAt: -1, eventId: -1 }),
    store.deliveries.createIndex({ endpointId: 1, state: 1, nextAt: 1 }),
    store.deliveries.createIndex({ nextAt: 1 }, { partialFilterExpression: { state: 'pending' } }),
    store.deliveryAttempts.createIndex({ endpointId: 1, at: -1, _id: -1 }),
    store.responseBodies.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 }),
    store.notices.createIndex({ dueAt: 1 }),
    store.notices.createIndex({ at: 1 }, { expireAfterSeconds: NOTICE_SECONDS }),
    store.results.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 }),
    store.buckets.createIndex({ at: 1 }, { expireAfterSeconds: 3600 }),
    // better-auth creates the index of `users` itself, under this name, but only after it has started to serve
    // requests.
    store.db.collection('users').createIndex({ email: 1 }, { unique: true, name: 'users_email_uidx' }),
    store.db.collection('sessions').createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 }),
    store.db.collection('sessions').createIndex({ userId: 1 }),
    store.db.collection('verifications').createIndex({ identifier: 1 }),
  ]);
}
