import {
  type ClientSession,
  type Collection,
  type Db,
  type Document,
  MongoAPIError,
  MongoBulkWriteError,
  MongoClient,
  MongoError,
  MongoServerError,
  type ObjectId,
  type OptionalUnlessRequiredId,
} from 'mongodb';
import type { EventKind } from '../schemas/events.ts';
import type { Component } from '../schemas/status.ts';
import type { Pool } from '../schemas/tool.ts';
import type { OauthClientDoc, OauthConsentDoc, OauthTokenDoc } from './oauthDocs.ts';
import { traceCommands } from './trace.ts';
import type {
  DeliveryAttemptDoc,
  DeliveryDoc,
  ExchangeDoc,
  NoticeDoc,
  WebhookEndpointDoc,
} from './webhookDocs.ts';

/**
 * The day and the month (UTC) to which the price of a call counts in the spend of its API key. They are fixed when the
 * price is reserved.
 */
export interface SpendPeriod {
  keyId: string;
  /** Midnight UTC. */
  day: Date;
  /** Midnight UTC of the first day of the month. */
  month: Date;
}

/**
 * Credits that the calls with an API key have reserved or been charged, in the latest day and the latest month (UTC) in
 * which a call reserved credits.
 */
export interface KeySpend {
  day: Date;
  inDay: number;
  month: Date;
  inMonth: number;
}

/**
 * Credits reserved for a running call. The nonce identifies the reservation: a charge requires the hold with the
 * nonce that its own reservation returned.
 */
export interface Hold {
  nonce: string;
  tool: string;
  pool: Pool;
  cost: number;
  at: Date;
  /** Missing if the call has no API key. */
  period?: SpendPeriod;
}

/** Durations in milliseconds that the worker of a call's tool measured. */
export interface ToolTimes {
  /** From the first scheduling of the tool to the start of its last attempt. */
  wait: number;
  /** Duration of the last attempt. */
  run: number;
}

/**
 * The end of a call. The update that ends the call's hold also writes this entry, which is removed after it was
 * copied to `calls`, `entries` and `events`. A call that ends without a hold has the state `refused`.
 */
export interface JournalEntry {
  id: string;
  callId: string;
  tool: string | null;
  state: 'charged' | 'refunded' | 'refused';
  cost: number;
  at: Date;
  code: string | null;
  /** Whether the call's Idempotency-Key is released, so that a new call can use it. */
  release: boolean;
  seq: number;
  balanceAfter: number;
  events: { id: string; event: EventKind }[];
  /** The owner's thresholds that the charge crossed; missing in entries without a charge. */
  alerts?: number[];
  /** The period of a charged call's hold. */
  period?: SpendPeriod;
  /** When the price was reserved; missing if it was not. */
  reservedAt?: Date;
  /** Missing if no attempt of the tool has ended. */
  times?: ToolTimes;
  /** `traceparent` of the span in which the call ended; missing if traces are not exported. */
  traceparent?: string;
}

export interface AccountDoc {
  _id: string;
  email: string;
  createdAt: Date;
  /** Credits granted minus credits charged. */
  balance: number;
  /** Total credits of the account's holds. Available credits are `balance - reserved`. */
  reserved: number;
  /**
   * Credits that negative adjustments could not take because fewer were available. While it is above 0 the account is
   * suspended.
   */
  shortfall: number;
  /** `seq` of the newest ledger entry. */
  seq: number;
  monthlyAllowance: number;
  /** Newest month for which the allowance was granted, such as `2026-11`. */
  allowanceMonth?: string;
  /** Time of the last grant or negative adjustment. */
  grantedAt?: Date;
  /** Thresholds in credits: when a charge takes the balance below one, the owner gets an email. */
  alerts?: number[];
  /**
   * Number of API keys ever created. Each creation increments it, so that concurrent creations conflict; see
   * `ApiKeys.create`.
   */
  keysMade: number;
  /** Number of webhook endpoints ever created, incremented for the same reason; see `WebhookEndpoints.create`. */
  endpointsMade?: number;
  /** Number of holds by pool, which is the number of running calls. */
  running: Partial<Record<Pool, number>>;
  /** Whether the owner has switched on keeping the input and output of calls; see `callContents.ts`. */
  keepsContents?: true;
  /** Spend of API keys by key id; keys that have never reserved credits are missing. */
  keySpend?: Record<string, KeySpend>;
  holds: Record<string, Hold>;
  journal: JournalEntry[];
  /** Set when the owner has closed the account; see `closeAccount.ts`. */
  closedAt?: Date;
  /** Hash of the email address of a closed account. */
  closedEmail?: string;
  /** Hashes of earlier email addresses. */
  formerEmails?: string[];
}

/** An account without `holds` and `journal`, which may be large. */
export type Account = Omit<AccountDoc, 'holds' | 'journal'>;

export type EntryType = 'charge' | 'signup' | 'purchase' | 'allowance' | 'adjustment' | 'recovery';

/** Author of an adjustment: an operator who was signed in to the dashboard, or a user of the command line. */
export type GrantOperator = { accountId: string; userId: string } | 'command line';

/** An entry of an account's ledger. The amounts of all entries of an account add up to its balance. */
export interface EntryDoc {
  _id: string;
  accountId: string;
  seq: number;
  at: Date;
  type: EntryType;
  amount: number;
  balanceAfter: number;
  callId: string | null;
  tool: string | null;
  source: string | null;
  reference: string | null;
  /** Only for adjustments by an operator, since this is recorded. */
  operator?: GrantOperator;
}

/**
 * An applied grant. Its id contains the type and the reference of the grant, so that a retry cannot apply it twice.
 */
export interface GrantDoc {
  _id: string;
  accountId: string;
  at: Date;
  type: Exclude<EntryType, 'charge' | 'recovery'>;
  requested: number;
  applied: number;
  shortfall: number;
  reason: string | null;
  /** Only for adjustments by an operator, since this is recorded. */
  operator?: GrantOperator;
}

/**
 * Stages of a dispute about a card payment, in the order in which they can follow each other. Stripe withholds the
 * money while a dispute is `open` and keeps it if the dispute is `lost`.
 */
export const DISPUTE_STAGES = ['inquiry', 'open', 'lost', 'won'] as const;
export type DisputeStage = (typeof DISPUTE_STAGES)[number];

/**
 * A payment, as known from Stripe's events, which arrive in any order. `accountId` and `paidAt` are null until an event confirms
 * that the payment succeeded.
 */
export interface PaymentDoc {
  /** Id of the payment at Stripe, or of the test checkout. */
  _id: string;
  accountId: string | null;
  credits: number;
  /** Price in hundredths of the currency unit. All amounts of this document have this unit. */
  amount: number;
  /** ISO 4217 code in upper case. */
  currency: string;
  /** Whether the payment was made in test mode, in which no money moves. */
  test: boolean;
  paidAt: Date | null;
  /** Total amount of all refunds. */
  refunded: number;
  disputes: { id: string; amount: number; stage: DisputeStage }[];
  /** Credits that were taken back for refunds and disputes. */
  taken: number;
  /**
   * Set if the payment reached an account that was closed before, until all of its credits were taken back: an operator
   * must refund it.
   */
  refundDue?: true;
  reportedAt: Date;
  /**
   * When MongoDB deletes the document; removed once the payment is confirmed. Stripe also reports refunds of payments
   * that are not for credits.
   */
  forgetAt?: Date;
}

/** The right to export an account; see `exportLease.ts`. The document's id is the id of the account. */
export interface ExportLeaseDoc {
  _id: string;
  holder: string;
  until: Date;
}

/** Sums of calls. */
interface UsageSums {
  /** Calls that have ended. */
  calls: number;
  /** Calls that returned a result. */
  succeeded: number;
  /** Credits. */
  charged: number;
}

/** The calls of one tool on one day. */
export interface ToolUsage extends UsageSums {
  tool: string;
  /** Histogram of the durations of successful calls: number of calls by bucket; see `percentile` in `usage.ts`. */
  times: Record<string, number>;
}

/** The calls with one key on one day. */
export interface KeyUsage extends UsageSums {
  /** Null for calls from the dashboard. */
  keyId: string | null;
  keyPrefix: string | null;
}

/** Sums of an account's calls on one day; see `usageOf`. */
export interface UsageDayDoc {
  _id: string;
  accountId: string;
  /** Midnight UTC. */
  day: Date;
  /** Calls accepted before this time are in the sums. */
  until: Date;
  tools: ToolUsage[];
  keys: KeyUsage[];
}

export const CALL_STATES = ['running', 'charged', 'refunded', 'refused'] as const;
export type CallState = (typeof CALL_STATES)[number];

/**
 * A response that the caller of a call is waiting for, or did not get. See `pendingAnswers.ts` and `undelivered.ts`.
 */
export interface PendingAnswer {
  /**
   * Id of the API process that has the caller's connection; null: the connection is lost, and the sweeper settles the
   * call.
   */
  process: string | null;
  /** Code of the error that the caller got instead of a result; null: no response yet, or the connection was lost. */
  code: string | null;
}

/** The lease of a running API process; see `lease.ts`. The document's id is the id of the process. */
export interface ApiProcessDoc {
  _id: string;
  renewedAt: Date;
}

/** Times of a call that were measured; see `phasesOf`. */
export interface CallTiming extends Partial<ToolTimes> {
  /** Milliseconds from the arrival of the request to the end of its checks. */
  accept?: number;
  /** Milliseconds of waiting for a place in the pool. */
  queue?: number;
  reservedAt?: Date;
  /** When the response was handed to the operating system. Only calls with `pendingAnswer` record it. */
  answeredAt?: Date;
}

/** A call: the usage log shows it, and it records the use of the Idempotency-Key. */
export interface CallDoc {
  _id: string;
  accountId: string;
  keyId: string | null;
  keyPrefix: string | null;
  tool: string;
  cost: number;
  charged: number;
  state: CallState;
  code: string | null;
  requestId: string;
  startedAt: Date;
  /**
   * When an API process last started or restarted the call's workflow, by MongoDB's clock. The sweeper skips calls for
   * which this is recent.
   */
  touchedAt: Date;
  finishedAt: Date | null;
  timing?: CallTiming;
  /** Id of the form of the dashboard that was sent. */
  formId?: string;
  /**
   * Whether the call can have side effects outside the service, such as a POST request. The tool then runs at most
   * once, and a crash does not release the Idempotency-Key.
   */
  actsOnWorld: boolean;
  /** Set when a call with an API key is charged; removed if its price is returned later. */
  period?: SpendPeriod;
  /**
   * Set from the start of the call if the caller cannot request the result again. Removed when the whole response has
   * been handed to the operating system, or when the call has been refunded.
   */
  pendingAnswer?: PendingAnswer;
  idempotency?: {
    key: string;
    /**
     * MAC of the tool and its input; a request with the same key and another MAC is refused. Null for a tool with
     * secret fields, whose calls are neither compared nor replayed.
     */
    fingerprint: string | null;
    expiresAt: Date;
  };
}

/** Limits that the owner sets for an API key; null: not limited. */
export interface KeyLimits {
  /** Credits that calls with the key may spend in a day (UTC). */
  dailyBudget: number | null;
  /** Credits that calls with the key may spend in a month (UTC). */
  monthlyBudget: number | null;
  /** Requests per second. The limit of the account applies as well. */
  rateLimit: number | null;
  /** IP addresses and CIDR blocks from which the key may be used. */
  allowedNetworks: string[] | null;
}

/** The OAuth client of a connection; see `connections.ts`. */
export interface ConnectedClient {
  id: string;
  /** Whether the client may also use the account tools, beside those of the scope `tools`. */
  account: boolean;
}

/** An API key, or a connection, which has the same limits. Limits that are missing do not apply. */
export interface ApiKeyDoc extends Partial<KeyLimits> {
  _id: string;
  accountId: string;
  /** Only for connections. */
  client?: ConnectedClient;
  /** SHA-256 of the key in hexadecimal; the key itself is not stored. A connection has its id here, which is no hash. */
  hash: string;
  prefix: string;
  /** The secret that the last rotation replaced, while it may still be valid. */
  previous?: { hash: string; prefix: string; expiresAt: Date };
  name: string;
  scope: 'tools' | 'account';
  /** Names of the tools that the key may call; null: all tools. */
  tools: string[] | null;
  createdAt: Date;
  lastUsedAt: Date | null;
  /** Client address of the last use. */
  lastUsedFrom?: string;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

export interface EventDoc {
  _id: string;
  accountId: string;
  event: EventKind;
  createdAt: Date;
  data: Record<string, unknown>;
  /** Set until the event's deliveries have been created and the workflows of their endpoints have been woken. */
  pending?: true;
  /** `traceparent` of the span in which the reported change was made; missing if traces are not exported. */
  traceparent?: string;
}

/** Kinds of events in the security log. */
export const SECURITY_KINDS = [
  'signed_in',
  'signed_out',
  'second_factor_failed',
  'session_ended',
  'sessions_ended',
  'password_changed',
  'password_reset',
  'name_changed',
  'email_change_requested',
  'email_changed',
  'two_factor_enabled',
  'two_factor_disabled',
  'backup_codes_renewed',
  'passkey_added',
  'passkey_renamed',
  'passkey_removed',
  'key_created',
  'key_changed',
  'key_rotated',
  'key_revoked',
  'webhook_secret_rotated',
  'webhook_secret_activated',
  'data_exported',
  'account_closed',
] as const;
export type SecurityKind = (typeof SECURITY_KINDS)[number];

/** An entry of an account's security log, which contains no secrets; see `securityLog.ts` for the fields. */
export interface SecurityEventDoc {
  _id: string;
  accountId: string;
  at: Date;
  kind: SecurityKind;
  subject: string;
  address: string;
  userAgent: string;
  keyPrefix: string | null;
  isOperator: boolean;
}

/** A passkey of a user. better-auth writes it, with its public key; see `passkeys.ts`. */
export interface PasskeyDoc {
  _id: ObjectId;
  userId: ObjectId;
  /** Name that the owner chose. */
  name: string;
  /** Id by which the authenticator knows the passkey. */
  credentialID: string;
  createdAt: Date;
  /** Time of the last sign-in; missing if there was none. */
  lastUsedAt?: Date;
}

/** A code of an authenticator app that was used; see `usedCodes.ts`. */
export interface UsedCodeDoc {
  _id: string;
  at: Date;
}

export interface ResultPieceDoc {
  _id: string;
  data: Buffer;
  expiresAt: Date;
}

/** The encrypted input and output of a call; see `callContents.ts`. The document's id is the id of the call. */
export interface CallContentDoc {
  _id: string;
  accountId: string;
  sealed: Buffer;
  expiresAt: Date;
}

export interface BucketDoc {
  _id: string;
  tokens: number;
  taken: boolean;
  at: Date;
}

/** The last accepted value of a metal price or exchange rate. */
export interface StoredQuote {
  /** Decimal number. */
  value: string;
  publishedAt: Date;
  /** When the feed last reported this value or a value near it. */
  checkedAt: Date;
  /**
   * A value that deviates too much from `value` to be accepted at once: since when and how often the feed has
   * reported it. Null if there is none.
   */
  doubted: { value: string; since: Date; times: number } | null;
}

/**
 * The state of a quote feed: the accepted values by symbol, and the lease of the worker that is fetching the feed.
 */
export interface QuoteFeedDoc {
  _id: string;
  quotes: Record<string, StoredQuote>;
  holder: string | null;
  leasedAt: Date;
  leasedUntil: Date;
  retryAt: Date;
}

/** A master key that has been used with this database; see `masterKeys.ts`. */
export interface MasterKeyDoc {
  /** Id of the key. */
  _id: string;
  mac: string;
}

/**
 * Scheduled jobs whose last result is stored. The script `docker/mongodb/backup.sh` writes the document of `backup`.
 */
export const MAINTENANCE = ['audit', 'backup'] as const;

/** The last results of a job. */
export interface MaintenanceDoc {
  _id: (typeof MAINTENANCE)[number];
  /** When the job last completed. An audit that found differences has completed. */
  succeededAt?: Date;
  /** When the job last failed to complete. */
  failedAt?: Date;
  /** Number of differences that the last completed audit found. */
  drift?: number;
}

/** The checks of one UTC day, for the status page; see `statusDays.ts`. The document's id is the day, such as `2026-11-24`. */
export interface StatusDayDoc {
  _id: string;
  /** Midnight UTC. */
  day: Date;
  /** The recorded minutes, by their number since midnight. */
  minutes: Record<string, true>;
  /** Numbers of minutes in which a component worked, and in which it failed. Missing: 0. */
  ok?: Partial<Record<Component, number>>;
  failed?: Partial<Record<Component, number>>;
}

/** An outage of a component; see `incidents.ts`. */
export interface IncidentDoc {
  _id: string;
  component: Component;
  /** Time of the first failed check. */
  startedAt: Date;
  /** Time of the first successful check; null while the incident is open. */
  endedAt: Date | null;
  /** Set while the incident is open. */
  open?: true;
  /** Number of failed checks. */
  failures: number;
  /** Time of the first successful check since the last failed one, while the incident is open. */
  okSince?: Date;
  /** Texts of operators, oldest first. */
  updates: { reference: string; at: Date; text: string }[];
}

export const BROADCAST_LEVELS = ['info', 'warning'] as const;
export type BroadcastLevel = (typeof BROADCAST_LEVELS)[number];

/** An operator's notice on every page of the dashboard; see `broadcast.ts`. */
export interface BroadcastDoc {
  _id: string;
  /** Identifies the notice, so that a user who has dismissed it sees the next one. */
  id: string;
  text: string;
  level: BroadcastLevel;
  expiresAt: Date;
}

/** The state of a task queue at a minute. */
export interface PoolSample {
  /** Tasks that wait for a worker. */
  waiting: number;
  /** Calls that wait or run; null for queues that run no calls. */
  calls: number | null;
  workers: number;
}

/** The states of all task queues at a minute, by queue; see `poolSamples.ts`. */
export interface PoolSampleDoc {
  _id: string;
  at: Date;
  queues: Record<string, PoolSample>;
}

/** An open connection to MongoDB, with typed collections. */
export interface Store {
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
  exportLeases: Collection<ExportLeaseDoc>;
  usageDays: Collection<UsageDayDoc>;
  events: Collection<EventDoc>;
  securityEvents: Collection<SecurityEventDoc>;
  passkeys: Collection<PasskeyDoc>;
  usedCodes: Collection<UsedCodeDoc>;
  results: Collection<ResultPieceDoc>;
  callContents: Collection<CallContentDoc>;
  buckets: Collection<BucketDoc>;
  webhookEndpoints: Collection<WebhookEndpointDoc>;
  deliveries: Collection<DeliveryDoc>;
  deliveryAttempts: Collection<DeliveryAttemptDoc>;
  exchanges: Collection<ExchangeDoc>;
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
  /** Runs `steps` in a transaction. If it conflicts with another transaction, `steps` run again. */
  transaction<T>(steps: (session: ClientSession) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * Timeout in milliseconds of server selection, of opening a connection, of the wait for a pooled connection, and of a
 * command. Callers that must not fail retry.
 */
const TIMEOUT_MS = 10_000;

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
    exportLeases: db.collection('exportLeases'),
    usageDays: db.collection('usageDays'),
    events: db.collection('events'),
    securityEvents: db.collection('securityEvents'),
    passkeys: db.collection('passkeys'),
    usedCodes: db.collection('usedCodes'),
    results: db.collection('results'),
    callContents: db.collection('callContents'),
    buckets: db.collection('buckets'),
    webhookEndpoints: db.collection('webhookEndpoints'),
    deliveries: db.collection('deliveries'),
    deliveryAttempts: db.collection('deliveryAttempts'),
    exchanges: db.collection('responseBodies'),
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
    transaction: (steps) => client.withSession((session) => session.withTransaction(() => steps(session))),
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
