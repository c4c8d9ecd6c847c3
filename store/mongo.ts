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
  type OptionalUnlessRequiredId,
} from 'mongodb';
import type { EventKind } from '../schemas/events.ts';
import type { Pool } from '../schemas/tool.ts';
import { traceCommands } from './trace.ts';
import type {
  DeliveryAttemptDoc,
  DeliveryDoc,
  NoticeDoc,
  ResponseBodyDoc,
  WebhookEndpointDoc,
} from './webhookDocs.ts';

/**
 * Credits reserved for a running call. The nonce identifies the reservation, so that a charge ends only its own hold.
 */
export interface Hold {
  nonce: string;
  tool: string;
  pool: Pool;
  cost: number;
  at: Date;
}

/**
 * End of a call, written in the update that ends its hold, and removed after it was copied to `calls`, `entries` and
 * `events`. A call without a hold ends as `refused`.
 */
export interface JournalEntry {
  id: string;
  callId: string;
  tool: string | null;
  state: 'charged' | 'refunded' | 'refused';
  cost: number;
  at: Date;
  code: string | null;
  /** The Idempotency-Key is released. */
  release: boolean;
  seq: number;
  balanceAfter: number;
  events: { id: string; event: EventKind }[];
  /** Trace in which the call ended, if traces are exported. */
  traceparent?: string;
}

export interface AccountDoc {
  _id: string;
  email: string;
  createdAt: Date;
  /** Granted minus charged. */
  balance: number;
  /** Sum of the holds; available credits are balance - reserved. */
  reserved: number;
  /** Credits that a negative adjustment could not take. Above 0 the account is suspended. */
  shortfall: number;
  /** Number of the newest entry. */
  seq: number;
  monthlyAllowance: number;
  /** Last month for which the allowance was granted, like `2026-11`. */
  allowanceMonth?: string;
  /** Time of the last change of credits other than by a call. */
  grantedAt?: Date;
  /** Number of keys ever created; see `ApiKeys.create`. */
  keysMade: number;
  /** Number of webhook endpoints ever created; see `WebhookEndpoints.create`. */
  endpointsMade?: number;
  /** Number of holds by pool. */
  running: Partial<Record<Pool, number>>;
  holds: Record<string, Hold>;
  journal: JournalEntry[];
}

/** An account without the ledger's working fields, which may be large. */
export type Account = Omit<AccountDoc, 'holds' | 'journal'>;

export type EntryType = 'charge' | 'signup' | 'purchase' | 'allowance' | 'adjustment' | 'recovery';

/** One entry of an account's ledger. The amounts of all entries add up to the balance. */
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
}

/** A change of credits other than by a call. Its id contains the source's id, so that a retry cannot apply it twice. */
export interface GrantDoc {
  _id: string;
  accountId: string;
  at: Date;
  type: Exclude<EntryType, 'charge' | 'recovery'>;
  requested: number;
  applied: number;
  shortfall: number;
  reason: string | null;
}

/**
 * Stages of a dispute in their possible order. The money is withheld while it is open and lost for good when it is
 * lost.
 */
export const DISPUTE_STAGES = ['inquiry', 'open', 'lost', 'won'] as const;
export type DisputeStage = (typeof DISPUTE_STAGES)[number];

/** A payment and its reports, which arrive in any order. It has no account until it is confirmed as paid. */
export interface PaymentDoc {
  /** The payment service's id. */
  _id: string;
  accountId: string | null;
  credits: number;
  /** In hundredths of the currency unit, like all amounts here. */
  amount: number;
  /** ISO 4217, upper case. */
  currency: string;
  /** A payment in Stripe's test mode: no money moved. */
  test: boolean;
  paidAt: Date | null;
  /** Total of all refunds. */
  refunded: number;
  disputes: { id: string; amount: number; stage: DisputeStage }[];
  /** Credits that were taken back for refunds and disputes. */
  taken: number;
  reportedAt: Date;
  /** Expiry until it is paid: Stripe also reports refunds of payments that are not for credits. */
  forgetAt?: Date;
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

/** A response that a caller waits for or did not get. See `pendingAnswers.ts` and `undelivered.ts`. */
export interface PendingAnswer {
  /** API process with the caller's connection; null: the connection is lost, and the sweeper settles the call. */
  process: string | null;
  /** Code of the error that the caller got instead of a result; null: no response yet, or the connection was lost. */
  code: string | null;
}

/** A running API process; see `lease.ts`. */
export interface ApiProcessDoc {
  _id: string;
  renewedAt: Date;
}

/** One call: an entry of the usage log and the record of its Idempotency-Key. */
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
  /** Time of the last (re)start of the workflow; the sweeper skips recent ones. */
  touchedAt: Date;
  finishedAt: Date | null;
  /** The tool may change its target and runs at most once, so a crash does not release the Idempotency-Key. */
  actsOnWorld: boolean;
  /**
   * Set when the call is accepted if its caller cannot request the result again. Removed when the response was handed to
   * the operating system in full, or the call was refunded.
   */
  pendingAnswer?: PendingAnswer;
  idempotency?: {
    key: string;
    /** Null for a tool with secret fields: its calls are neither compared nor replayed. */
    fingerprint: string | null;
    expiresAt: Date;
  };
}

export interface ApiKeyDoc {
  _id: string;
  accountId: string;
  /** SHA-256 of the key, hex. The key itself is not stored. */
  hash: string;
  prefix: string;
  name: string;
  scope: 'tools' | 'account';
  /** Null: all tools. */
  tools: string[] | null;
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

export interface EventDoc {
  _id: string;
  accountId: string;
  event: EventKind;
  createdAt: Date;
  data: Record<string, unknown>;
  /** Its deliveries may not have been created yet. */
  pending?: true;
  /** Trace of the change that it reports, if traces are exported. */
  traceparent?: string;
}

export interface ResultPieceDoc {
  _id: string;
  data: Buffer;
  expiresAt: Date;
}

export interface BucketDoc {
  _id: string;
  tokens: number;
  taken: boolean;
  at: Date;
}

/** The last good value of a price or rate. */
export interface StoredQuote {
  /** A decimal number. */
  value: string;
  publishedAt: Date;
  /** When the feed last reported this value or one near it. */
  checkedAt: Date;
  /** A deviating value of the feed that is not accepted yet: since when and how often it was reported. */
  doubted: { value: string; since: Date; times: number } | null;
}

/** A feed of quotes: its values by symbol, and the worker that is fetching it. */
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

/** Jobs that run on a schedule and whose last result is kept. The backup service writes its own document. */
export const MAINTENANCE = ['audit', 'backup'] as const;

/** The last results of a job. */
export interface MaintenanceDoc {
  _id: (typeof MAINTENANCE)[number];
  /** Last time it completed. An audit that found drift completed. */
  succeededAt?: Date;
  /** Last time it could not complete. */
  failedAt?: Date;
  /** Differences that the last completed audit found. */
  drift?: number;
}

/** An open connection with typed collections. */
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
  usageDays: Collection<UsageDayDoc>;
  events: Collection<EventDoc>;
  results: Collection<ResultPieceDoc>;
  buckets: Collection<BucketDoc>;
  webhookEndpoints: Collection<WebhookEndpointDoc>;
  deliveries: Collection<DeliveryDoc>;
  deliveryAttempts: Collection<DeliveryAttemptDoc>;
  responseBodies: Collection<ResponseBodyDoc>;
  notices: Collection<NoticeDoc>;
  quotes: Collection<QuoteFeedDoc>;
  maintenance: Collection<MaintenanceDoc>;
  /** Runs the steps in a transaction. They are repeated if it conflicts with another one. */
  transaction<T>(steps: (session: ClientSession) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Timeout for a server, a connection or a response. Callers that must not fail retry. */
const TIMEOUT_MS = 10_000;

/**
 * Connects with majority read and write concerns, so that acknowledged writes are never rolled back.
 *
 * @param timeoutMs timeout of one command
 * @param traced whether commands are traced
 */
export async function openStore(uri: string, timeoutMs = TIMEOUT_MS, traced = false): Promise<Store> {
  const client = new MongoClient(uri, {
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
    usageDays: db.collection('usageDays'),
    events: db.collection('events'),
    results: db.collection('results'),
    buckets: db.collection('buckets'),
    webhookEndpoints: db.collection('webhookEndpoints'),
    deliveries: db.collection('deliveries'),
    deliveryAttempts: db.collection('deliveryAttempts'),
    responseBodies: db.collection('responseBodies'),
    notices: db.collection('notices'),
    quotes: db.collection('quotes'),
    maintenance: db.collection('maintenance'),
    transaction: (steps) => client.withSession((session) => session.withTransaction(() => steps(session))),
    close: () => client.close(),
  };
}

/** Error code of a violated unique index. */
export const DUPLICATE_KEY = 11000;

/** Whether the database or the connection to it failed temporarily; the same operation may succeed later. */
export function isTransient(error: unknown): boolean {
  // MongoAPIError: wrong use of the driver, or a closed client.
  if (error instanceof MongoError) return !(error instanceof MongoAPIError);
  // The driver passes on some system errors, such as EPIPE.
  return error instanceof Error && 'code' in error && /^E[A-Z]+$/.test(String(error.code));
}

/** Whether a document with this unique key already exists. */
export const isDuplicate = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === DUPLICATE_KEY;

/**
 * Update pipeline that creates a document with the database's time in `createdAt`. Times that are compared with each
 * other come from this clock, because the clocks of processes can differ.
 */
export const createdNow = (document: Document): Document[] => [
  { $replaceWith: { $mergeObjects: [{ $literal: document }, { createdAt: '$$NOW' }] } },
];

/** Inserts documents and keeps existing ones with the same id unchanged, so that it can be repeated. */
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
