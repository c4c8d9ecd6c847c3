import {
  type Collection,
  type Db,
  type Document,
  MongoAPIError,
  MongoBulkWriteError,
  MongoClient,
  MongoError,
  MongoServerError,
  type OptionalUnlessRequiredId,
} from 'mongodb';
import { traceCommands } from '../../platform/trace.ts';
import type { AccountDoc, EntryDoc, ExportLeaseDoc, GrantDoc } from '../accounts/accountDocs.ts';
import type { MasterKeyDoc, PasskeyDoc, SecurityEventDoc, UsedCodeDoc } from '../accounts/securityDocs.ts';
import type { BatchCallbackDoc, BatchDoc } from '../batches/batchDocs.ts';
import type { InvoiceDoc, InvoiceSeriesDoc } from '../billing/invoiceDocs.ts';
import type { PaymentDoc } from '../billing/paymentDocs.ts';
import type { TopUpDoc } from '../billing/topUpDocs.ts';
import type { AutoTopUpDoc, TopUpRunDoc } from '../billing/topUpRunDocs.ts';
import type { UsageDayDoc } from '../billing/usageDocs.ts';
import type {
  ApiProcessDoc,
  CallContentDoc,
  CallDoc,
  ResultPieceDoc,
  ReusableResultDoc,
} from '../calls/callDocs.ts';
import type { RefusalDayDoc, RefusalDoc } from '../calls/refusalDocs.ts';
import type { FileDoc } from '../files/fileDocs.ts';
import type { CallbackSecretDoc, JobDoc } from '../jobs/jobDocs.ts';
import type { ApiKeyDoc, BucketDoc } from '../keys/keyDocs.ts';
import type { OauthClientDoc, OauthConsentDoc, OauthTokenDoc } from '../keys/oauthDocs.ts';
import type { QuoteFeedDoc } from '../quotes/quoteDocs.ts';
import type { ReceiptKeyDoc } from '../receipts/receiptDocs.ts';
import type { ScheduleCallbackDoc, ScheduleDoc, ScheduleRunDoc } from '../schedules/scheduleDocs.ts';
import type {
  BroadcastDoc,
  IncidentDoc,
  MaintenanceDoc,
  PoolSampleDoc,
  StatusDayDoc,
} from '../status/statusDocs.ts';
import type {
  AttemptContentDoc,
  DeliveryAttemptDoc,
  DeliveryDoc,
  EventDoc,
  NoticeDoc,
  WebhookEndpointDoc,
} from '../webhooks/webhookDocs.ts';
import { createTransactions, type Transactions } from './transactions.ts';

/** An open connection to MongoDB, with typed collections. */
export interface Store extends Transactions {
  client: MongoClient;
  db: Db;
  accounts: Collection<AccountDoc>;
  apiKeys: Collection<ApiKeyDoc>;
  calls: Collection<CallDoc>;
  apiProcesses: Collection<ApiProcessDoc>;
  masterKeys: Collection<MasterKeyDoc>;
  entries: Collection<EntryDoc>;
  grants: Collection<GrantDoc>;
  payments: Collection<PaymentDoc>;
  topUps: Collection<TopUpDoc>;
  invoices: Collection<InvoiceDoc>;
  invoiceSeries: Collection<InvoiceSeriesDoc>;
  autoTopUps: Collection<AutoTopUpDoc>;
  topUpRuns: Collection<TopUpRunDoc>;
  exportLeases: Collection<ExportLeaseDoc>;
  usageDays: Collection<UsageDayDoc>;
  /** Only `store/webhooks/events.ts` stores events, because it also starts their dispatch. */
  events: Collection<EventDoc>;
  securityEvents: Collection<SecurityEventDoc>;
  passkeys: Collection<PasskeyDoc>;
  usedCodes: Collection<UsedCodeDoc>;
  results: Collection<ResultPieceDoc>;
  callContents: Collection<CallContentDoc>;
  reusableResults: Collection<ReusableResultDoc>;
  files: Collection<FileDoc>;
  jobs: Collection<JobDoc>;
  batches: Collection<BatchDoc>;
  batchCallbacks: Collection<BatchCallbackDoc>;
  callbackSecrets: Collection<CallbackSecretDoc>;
  receiptKeys: Collection<ReceiptKeyDoc>;
  schedules: Collection<ScheduleDoc>;
  scheduleRuns: Collection<ScheduleRunDoc>;
  scheduleCallbacks: Collection<ScheduleCallbackDoc>;
  refusals: Collection<RefusalDoc>;
  refusalDays: Collection<RefusalDayDoc>;
  buckets: Collection<BucketDoc>;
  webhookEndpoints: Collection<WebhookEndpointDoc>;
  deliveries: Collection<DeliveryDoc>;
  deliveryAttempts: Collection<DeliveryAttemptDoc>;
  attemptContents: Collection<AttemptContentDoc>;
  notices: Collection<NoticeDoc>;
  quotes: Collection<QuoteFeedDoc>;
  maintenance: Collection<MaintenanceDoc>;
  oauthClients: Collection<OauthClientDoc>;
  oauthAccessTokens: Collection<OauthTokenDoc>;
  oauthRefreshTokens: Collection<OauthTokenDoc>;
  oauthConsents: Collection<OauthConsentDoc>;
  statusDays: Collection<StatusDayDoc>;
  incidents: Collection<IncidentDoc>;
  broadcasts: Collection<BroadcastDoc>;
  poolSamples: Collection<PoolSampleDoc>;
  close(): Promise<void>;
}

/**
 * Timeout in milliseconds of server selection, of opening a connection, of the wait for a pooled connection, and of a
 * command. Callers that must not fail retry.
 */
const TIMEOUT_MS = 10_000;
/** Interval in milliseconds at which the driver checks each server; a lost server is noticed `TIMEOUT_MS` after a check. */
const HEARTBEAT_MS = 2_000;

/** Options of a connection string that the driver prefers to, or merges with, the concerns that `openStore` sets. */
const CONCERNS = /^(?:w|journal|wtimeoutMS|readConcernLevel)=/i;

/** Removes the read and write concern from a connection string. */
function withoutConcerns(uri: string): string {
  const [address, options = ''] = uri.split('?', 2);
  const kept = options.split('&').filter((option) => option !== '' && !CONCERNS.test(option));
  return kept.length === 0 ? `${address}` : `${address}?${kept.join('&')}`;
}

/**
 * Connects with majority read and write concerns, so that acknowledged writes are never rolled back.
 *
 * @param uri connection string; its read and write concern are ignored
 * @param timeoutMs timeout of one command
 * @param traced whether commands create spans
 */
export async function openStore(uri: string, timeoutMs = TIMEOUT_MS, traced = false): Promise<Store> {
  const client = new MongoClient(withoutConcerns(uri), {
    writeConcern: { w: 'majority', journal: true },
    readConcern: { level: 'majority' },
    readPreference: 'primary',
    retryWrites: true,
    serverSelectionTimeoutMS: TIMEOUT_MS,
    connectTimeoutMS: TIMEOUT_MS,
    heartbeatFrequencyMS: HEARTBEAT_MS,
    socketTimeoutMS: timeoutMs,
    waitQueueTimeoutMS: TIMEOUT_MS,
    maxPoolSize: 64,
    ignoreUndefined: true,
    monitorCommands: traced,
  });
  if (traced) traceCommands(client);
  try {
    await client.connect();
  } catch (error) {
    await client.close();
    throw error;
  }
  const db = client.db();
  return {
    client,
    db,
    accounts: db.collection('accounts'),
    apiKeys: db.collection('apiKeys'),
    calls: db.collection('calls'),
    apiProcesses: db.collection('apiProcesses'),
    masterKeys: db.collection('masterKeys'),
    entries: db.collection('entries'),
    grants: db.collection('grants'),
    payments: db.collection('payments'),
    topUps: db.collection('topUps'),
    invoices: db.collection('invoices'),
    invoiceSeries: db.collection('invoiceSeries'),
    autoTopUps: db.collection('autoTopUps'),
    topUpRuns: db.collection('topUpRuns'),
    exportLeases: db.collection('exportLeases'),
    usageDays: db.collection('usageDays'),
    events: db.collection('events'),
    securityEvents: db.collection('securityEvents'),
    passkeys: db.collection('passkeys'),
    usedCodes: db.collection('usedCodes'),
    results: db.collection('results'),
    callContents: db.collection('callContents'),
    reusableResults: db.collection('reusableResults'),
    files: db.collection('files'),
    jobs: db.collection('jobs'),
    batches: db.collection('batches'),
    batchCallbacks: db.collection('batchCallbacks'),
    callbackSecrets: db.collection('callbackSecrets'),
    receiptKeys: db.collection('receiptKeys'),
    schedules: db.collection('schedules'),
    scheduleRuns: db.collection('scheduleRuns'),
    scheduleCallbacks: db.collection('scheduleCallbacks'),
    refusals: db.collection('refusals'),
    refusalDays: db.collection('refusalDays'),
    buckets: db.collection('buckets'),
    webhookEndpoints: db.collection('webhookEndpoints'),
    deliveries: db.collection('deliveries'),
    deliveryAttempts: db.collection('deliveryAttempts'),
    attemptContents: db.collection('responseBodies'),
    notices: db.collection('notices'),
    quotes: db.collection('quotes'),
    maintenance: db.collection('maintenance'),
    oauthClients: db.collection('oauthClients'),
    oauthAccessTokens: db.collection('oauthAccessTokens'),
    oauthRefreshTokens: db.collection('oauthRefreshTokens'),
    oauthConsents: db.collection('oauthConsents'),
    statusDays: db.collection('statusDays'),
    incidents: db.collection('incidents'),
    broadcasts: db.collection('broadcasts'),
    poolSamples: db.collection('poolSamples'),
    ...createTransactions(client),
    close: () => client.close(),
  };
}

/** Error code of a violated unique index. */
export const DUPLICATE_KEY = 11000;

/** Whether the database or the connection to it failed temporarily; the same operation may succeed later. */
export function isTransient(error: unknown): boolean {
  // A MongoAPIError means wrong use of the driver or a closed client; a retry would fail in the same way.
  if (error instanceof MongoError) return !(error instanceof MongoAPIError);
  // The driver throws some errors of the operating system unchanged, such as EPIPE.
  return error instanceof Error && 'code' in error && /^E[A-Z]+$/.test(String(error.code));
}

/** Whether a document with this unique key already exists. */
export const isDuplicate = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === DUPLICATE_KEY;

/**
 * Update pipeline that creates a document with the time of the database server in `createdAt`. All times that are
 * compared with each other come from the clock of the database server, because the clocks of the other processes can
 * differ.
 */
export const createdNow = (document: Document): Document[] => [
  { $replaceWith: { $mergeObjects: [{ $literal: document }, { createdAt: '$$NOW' }] } },
];

/**
 * Inserts the documents whose ids are new and leaves existing documents unchanged, so that the insert can be
 * repeated.
 */
export async function insertAllOnce<T extends Document>(
  collection: Collection<T>,
  rows: readonly OptionalUnlessRequiredId<T>[],
): Promise<void> {
  if (rows.length === 0) return;
  try {
    await collection.insertMany(rows, { ordered: false });
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const faults = [error.writeErrors].flat();
    if (faults.length === 0 || faults.some(({ code }) => code !== DUPLICATE_KEY)) throw error;
  }
}
