import { MongoServerError } from 'mongodb';
import { ACCOUNT_INDEXES, ENTRY_INDEXES, GRANT_INDEXES } from '../accounts/accountDocs.ts';
import { PASSKEY_INDEXES, SECURITY_EVENT_INDEXES, USED_CODE_INDEXES } from '../accounts/securityDocs.ts';
import { BATCH_CALLBACK_INDEXES, BATCH_INDEXES } from '../batches/batchDocs.ts';
import { INVOICE_INDEXES } from '../billing/invoiceDocs.ts';
import { PAYMENT_INDEXES } from '../billing/paymentDocs.ts';
import { TOP_UP_INDEXES } from '../billing/topUpDocs.ts';
import { TOP_UP_RUN_INDEXES } from '../billing/topUpRunDocs.ts';
import { USAGE_DAY_INDEXES } from '../billing/usageDocs.ts';
import {
  API_PROCESS_INDEXES,
  CALL_CONTENT_INDEXES,
  CALL_INDEXES,
  RESULT_INDEXES,
  REUSABLE_RESULT_INDEXES,
} from '../calls/callDocs.ts';
import { REFUSAL_DAY_INDEXES, REFUSAL_INDEXES } from '../calls/refusalDocs.ts';
import { FILE_INDEXES } from '../files/fileDocs.ts';
import { JOB_INDEXES } from '../jobs/jobDocs.ts';
import { API_KEY_INDEXES, BUCKET_INDEXES } from '../keys/keyDocs.ts';
import { OAUTH_CLIENT_INDEXES, OAUTH_CONSENT_INDEXES, OAUTH_TOKEN_INDEXES } from '../keys/oauthDocs.ts';
import { RECEIPT_KEY_INDEXES } from '../receipts/receiptDocs.ts';
import {
  SCHEDULE_CALLBACK_INDEXES,
  SCHEDULE_INDEXES,
  SCHEDULE_RUN_INDEXES,
} from '../schedules/scheduleDocs.ts';
import {
  BROADCAST_INDEXES,
  INCIDENT_INDEXES,
  POOL_SAMPLE_INDEXES,
  STATUS_DAY_INDEXES,
} from '../status/statusDocs.ts';
import {
  ATTEMPT_CONTENT_INDEXES,
  DELIVERY_ATTEMPT_INDEXES,
  DELIVERY_INDEXES,
  EVENT_INDEXES,
  NOTICE_INDEXES,
  WEBHOOK_ENDPOINT_INDEXES,
} from '../webhooks/webhookDocs.ts';
import type { Store } from './mongo.ts';

/** Indexes of the collections of better-auth, beside those that it creates itself after it has started to serve requests. */
const createAuthIndexes = ({ db }: Store): Promise<string[]>[] => [
  // better-auth uses this name too.
  db.collection('users').createIndexes([{ key: { email: 1 }, unique: true, name: 'users_email_uidx' }]),
  db
    .collection('sessions')
    .createIndexes([{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }, { key: { userId: 1 } }]),
  db
    .collection('verifications')
    .createIndexes([{ key: { identifier: 1 } }, { key: { expiresAt: 1 }, expireAfterSeconds: 0 }]),
  db.collection('twoFactors').createIndexes([{ key: { userId: 1 } }]),
  // better-auth uses this name too. The index must exist before the record of the resource.
  db
    .collection('oauthResources')
    .createIndexes([{ key: { identifier: 1 }, unique: true, name: 'oauthResources_identifier_uidx' }]),
  db.collection('deviceCodes').createIndexes([{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }]),
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
    store.accounts.createIndexes(ACCOUNT_INDEXES),
    store.entries.createIndexes(ENTRY_INDEXES),
    store.grants.createIndexes(GRANT_INDEXES),
    store.securityEvents.createIndexes(SECURITY_EVENT_INDEXES),
    store.passkeys.createIndexes(PASSKEY_INDEXES),
    store.usedCodes.createIndexes(USED_CODE_INDEXES),
    store.payments.createIndexes(PAYMENT_INDEXES),
    store.topUps.createIndexes(TOP_UP_INDEXES),
    store.invoices.createIndexes(INVOICE_INDEXES),
    store.topUpRuns.createIndexes(TOP_UP_RUN_INDEXES),
    store.usageDays.createIndexes(USAGE_DAY_INDEXES),
    store.calls.createIndexes(CALL_INDEXES),
    store.apiProcesses.createIndexes(API_PROCESS_INDEXES),
    store.results.createIndexes(RESULT_INDEXES),
    store.callContents.createIndexes(CALL_CONTENT_INDEXES),
    store.reusableResults.createIndexes(REUSABLE_RESULT_INDEXES),
    store.files.createIndexes(FILE_INDEXES),
    store.jobs.createIndexes(JOB_INDEXES),
    store.batches.createIndexes(BATCH_INDEXES),
    store.batchCallbacks.createIndexes(BATCH_CALLBACK_INDEXES),
    store.receiptKeys.createIndexes(RECEIPT_KEY_INDEXES),
    store.schedules.createIndexes(SCHEDULE_INDEXES),
    store.scheduleRuns.createIndexes(SCHEDULE_RUN_INDEXES),
    store.scheduleCallbacks.createIndexes(SCHEDULE_CALLBACK_INDEXES),
    store.refusals.createIndexes(REFUSAL_INDEXES),
    store.refusalDays.createIndexes(REFUSAL_DAY_INDEXES),
    store.apiKeys.createIndexes(API_KEY_INDEXES),
    store.buckets.createIndexes(BUCKET_INDEXES),
    store.oauthClients.createIndexes(OAUTH_CLIENT_INDEXES),
    store.oauthAccessTokens.createIndexes(OAUTH_TOKEN_INDEXES),
    store.oauthRefreshTokens.createIndexes(OAUTH_TOKEN_INDEXES),
    store.oauthConsents.createIndexes(OAUTH_CONSENT_INDEXES),
    store.statusDays.createIndexes(STATUS_DAY_INDEXES),
    store.incidents.createIndexes(INCIDENT_INDEXES),
    store.broadcasts.createIndexes(BROADCAST_INDEXES),
    store.poolSamples.createIndexes(POOL_SAMPLE_INDEXES),
    store.events.createIndexes(EVENT_INDEXES),
    store.webhookEndpoints.createIndexes(WEBHOOK_ENDPOINT_INDEXES),
    store.deliveries.createIndexes(DELIVERY_INDEXES),
    store.deliveryAttempts.createIndexes(DELIVERY_ATTEMPT_INDEXES),
    store.attemptContents.createIndexes(ATTEMPT_CONTENT_INDEXES),
    store.notices.createIndexes(NOTICE_INDEXES),
    ...createAuthIndexes(store),
  ]);
  await dropObsoleteIndexes(store);
}
