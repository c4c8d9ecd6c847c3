import { MongoServerError } from 'mongodb';
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

/** Index for searches by a part of an email address: each address is compared within the index, newest accounts first. */
export const ACCOUNT_SEARCH_INDEX = { createdAt: -1, _id: -1, email: 1 } as const;

/** Retention of notices in seconds. Longer than any retry, so that an owner is notified only once. */
const NOTICE_SECONDS = 14 * 86_400;

/**
 * Retention of calls that were not charged, in seconds: 7 days after their end. Charged calls are kept, because ledger
 * entries refer to them.
 */
export const UNCHARGED_SECONDS = 7 * 86_400;

/**
 * Retention of deliveries that failed or are held, in seconds after their events: 90 days, much longer than they can be
 * resent.
 */
const UNDELIVERED_SECONDS = 90 * 86_400;

/** Retention of usage sums in seconds. Longer than the longest period for which usage is shown. */
const USAGE_SECONDS = 100 * 86_400;

/** Retention of the checks of the status page and of ended incidents in seconds. Longer than the status page shows. */
const STATUS_SECONDS = 100 * 86_400;

/** Retention of the recorded states of queues in seconds. Longer than the hour that the operators' page shows. */
const SAMPLE_SECONDS = 2 * 3600;
/** Retention of used codes in seconds. better-auth accepts a code for at most 90 seconds. */
const USED_CODE_SECONDS = 120;

/** Retention of the security log in seconds: one year. */
const SECURITY_EVENT_SECONDS = 365 * 86_400;

/**
 * Retention of lease documents in seconds, far longer than a lease is valid. Expired leases count as absent anyway,
 * so this only removes the documents of killed processes.
 */
const API_PROCESS_SECONDS = 3600;

/**
 * Indexes of the collections that the plugins of better-auth write, beside those that better-auth creates itself when it
 * starts.
 */
const pluginIndexes = ({ db, oauthClients, oauthConsents, ...store }: Store): Promise<string[]>[] => [
  // better-auth uses this name too. The index must exist before the record of the resource.
  db
    .collection('oauthResources')
    .createIndexes([{ key: { identifier: 1 }, unique: true, name: 'oauthResources_identifier_uidx' }]),
  oauthClients.createIndexes([{ key: { unusedUntil: 1 }, expireAfterSeconds: 0 }]),
  oauthConsents.createIndexes([{ key: { referenceId: 1 } }]),
  ...[store.oauthAccessTokens, store.oauthRefreshTokens].map((tokens) =>
    tokens.createIndexes([{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }, { key: { referenceId: 1 } }]),
  ),
  db.collection('deviceCodes').createIndexes([{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }]),
  // better-auth uses this name too. The index must exist before the first passkey: no two may have the same id.
  store.passkeys.createIndexes([
    { key: { credentialID: 1 }, unique: true, name: 'passkeys_credentialID_uidx' },
  ]),
];

/**
 * Names of indexes of earlier versions, by collection. No query uses them any more, and each would slow down every write.
 * better-auth cannot create its own indexes of `deviceCodes` while the old ones exist.
 */
export const OBSOLETE_INDEXES: Readonly<Record<string, readonly string[]>> = {
  accounts: ['createdAt_-1__id_-1'],
  calls: ['accountId_1_requestId_1', 'accountId_1_keyId_1_startedAt_-1__id_-1'],
  deviceCodes: ['deviceCode_1', 'userCode_1'],
  grants: ['accountId_1_at_-1'],
  payments: ['accountId_1_paidAt_-1'],
};

/** Codes of the errors "collection does not exist" and "index does not exist". */
const ABSENT: ReadonlySet<unknown> = new Set([26, 27]);

/**
 * Timeout in milliseconds of a command that drops an index. It waits for all open transactions of the collection, also
 * those that a killed process left open, and all other operations on the collection wait for it.
 */
const DROP_MS = 2_000;

/**
 * Drops indexes of earlier versions that exist. MongoDB locks the whole collection also for a drop that finds no index, so
 * the names are read first.
 */
async function dropObsoleteIndexes({ db }: Store): Promise<void> {
  for (const [collectionName, obsolete] of Object.entries(OBSOLETE_INDEXES)) {
    const collection = db.collection(collectionName);
    for (const { name } of await collection.listIndexes().toArray())
      if (obsolete.includes(name))
        await collection.dropIndex(name, { maxTimeMS: DROP_MS }).catch((error: unknown) => {
          // Another process that starts at the same time may have dropped it.
          if (!(error instanceof MongoServerError) || !ABSENT.has(error.code)) throw error;
        });
  }
}

/**
 * Creates missing indexes and drops those of earlier versions. One command for each collection: commands for single
 * indexes need more connections and twice the time. Code that relies on a unique index says so in its comments.
 */
export async function ensureIndexes(store: Store): Promise<void> {
  await Promise.all([
    store.accounts.createIndexes([
      { key: { email: 1 }, unique: true },
      { key: ACCOUNT_SEARCH_INDEX },
      ...(['closedEmail', 'formerEmails'] as const).map((field) => ({
        key: { [field]: 1 },
        partialFilterExpression: { [field]: { $exists: true } },
      })),
      { key: { reserved: 1 }, partialFilterExpression: { reserved: { $gt: 0 } } },
      { key: { monthlyAllowance: 1 }, partialFilterExpression: { monthlyAllowance: { $gt: 0 } } },
    ]),
    store.apiKeys.createIndexes([
      { key: { hash: 1 }, unique: true },
      { key: { 'previous.hash': 1 }, partialFilterExpression: { 'previous.hash': { $exists: true } } },
      { key: { accountId: 1, createdAt: -1, _id: -1 } },
      {
        key: { accountId: 1, 'client.id': 1 },
        unique: true,
        partialFilterExpression: { 'client.id': { $exists: true }, revokedAt: { $type: 'null' } },
      },
      { key: { 'client.id': 1 }, partialFilterExpression: { 'client.id': { $exists: true } } },
      { key: { prefix: 1 } },
      { key: { 'previous.prefix': 1 }, partialFilterExpression: { 'previous.prefix': { $exists: true } } },
    ]),
    store.calls.createIndexes([
      {
        key: { accountId: 1, 'idempotency.key': 1 },
        unique: true,
        partialFilterExpression: { 'idempotency.key': { $exists: true } },
      },
      ...Object.values(CALL_INDEXES).map((key) => ({ key })),
      { key: { requestId: 1 } },
      { key: { touchedAt: 1 }, partialFilterExpression: { state: 'running' } },
      {
        key: { finishedAt: 1 },
        expireAfterSeconds: UNCHARGED_SECONDS,
        partialFilterExpression: { state: { $in: ['refunded', 'refused'] } },
      },
      { key: { 'pendingAnswer.process': 1 }, partialFilterExpression: { pendingAnswer: { $exists: true } } },
    ]),
    store.apiProcesses.createIndexes([{ key: { renewedAt: 1 }, expireAfterSeconds: API_PROCESS_SECONDS }]),
    store.entries.createIndexes([{ key: { accountId: 1, seq: -1 }, unique: true }]),
    store.usageDays.createIndexes([
      { key: { accountId: 1, day: -1 } },
      { key: { day: 1 }, expireAfterSeconds: USAGE_SECONDS },
    ]),
    store.grants.createIndexes([{ key: { accountId: 1, at: -1, _id: -1 } }]),
    store.payments.createIndexes([
      { key: { accountId: 1, paidAt: -1, _id: -1 } },
      { key: { paidAt: -1 }, partialFilterExpression: { refundDue: true } },
      { key: { forgetAt: 1 }, expireAfterSeconds: 0 },
    ]),
    store.events.createIndexes([
      { key: { accountId: 1, createdAt: -1, _id: -1 } },
      { key: { accountId: 1, event: 1, createdAt: -1, _id: -1 } },
      { key: { createdAt: 1 }, partialFilterExpression: { pending: true } },
    ]),
    store.securityEvents.createIndexes([
      { key: { accountId: 1, at: -1, _id: -1 } },
      { key: { accountId: 1, kind: 1, at: -1, _id: -1 } },
      { key: { at: 1 }, expireAfterSeconds: SECURITY_EVENT_SECONDS },
    ]),
    store.usedCodes.createIndexes([{ key: { at: 1 }, expireAfterSeconds: USED_CODE_SECONDS }]),
    store.webhookEndpoints.createIndexes([{ key: { accountId: 1, createdAt: -1, _id: -1 } }]),
    store.deliveries.createIndexes([
      { key: { eventId: 1 } },
      { key: { accountId: 1, state: 1, event: 1, createdAt: -1, eventId: -1 } },
      { key: { endpointId: 1, state: 1, nextAt: 1 } },
      { key: { nextAt: 1 }, partialFilterExpression: { state: 'pending' } },
      {
        key: { createdAt: 1 },
        expireAfterSeconds: UNDELIVERED_SECONDS,
        partialFilterExpression: { state: { $in: ['failed', 'held'] } },
      },
    ]),
    store.deliveryAttempts.createIndexes([{ key: { endpointId: 1, at: -1, _id: -1 } }]),
    store.exchanges.createIndexes([
      { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
      { key: { accountId: 1, expiresAt: -1 } },
    ]),
    store.notices.createIndexes([
      { key: { dueAt: 1 } },
      { key: { accountId: 1, at: -1, _id: -1 } },
      { key: { at: 1 }, expireAfterSeconds: NOTICE_SECONDS },
    ]),
    store.statusDays.createIndexes([{ key: { day: 1 }, expireAfterSeconds: STATUS_SECONDS }]),
    store.incidents.createIndexes([
      { key: { startedAt: -1 } },
      { key: { endedAt: 1 }, expireAfterSeconds: STATUS_SECONDS },
      { key: { component: 1 }, unique: true, partialFilterExpression: { open: true } },
    ]),
    store.broadcasts.createIndexes([{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }]),
    store.poolSamples.createIndexes([{ key: { at: 1 }, expireAfterSeconds: SAMPLE_SECONDS }]),
    store.results.createIndexes([{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }]),
    store.callContents.createIndexes([
      { key: { accountId: 1, expiresAt: 1 } },
      { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
    ]),
    store.buckets.createIndexes([{ key: { at: 1 }, expireAfterSeconds: 3600 }]),
    store.db.collection('users').createIndexes([
      // better-auth creates the index of `users` itself, under this name, but only after it has started to serve
      // requests.
      { key: { email: 1 }, unique: true, name: 'users_email_uidx' },
    ]),
    store.db
      .collection('sessions')
      .createIndexes([{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }, { key: { userId: 1 } }]),
    store.db
      .collection('verifications')
      .createIndexes([{ key: { identifier: 1 } }, { key: { expiresAt: 1 }, expireAfterSeconds: 0 }]),
    store.db.collection('twoFactors').createIndexes([{ key: { userId: 1 } }]),
    ...pluginIndexes(store),
  ]);
  await dropObsoleteIndexes(store);
}
