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
import type {
  DeliveryAttemptDoc,
  DeliveryDoc,
  NoticeDoc,
  ResponseBodyDoc,
  WebhookEndpointDoc,
} from './webhookDocs.ts';

/** Credits held for a call that runs. The nonce names the reservation attempt, so that only its own can be charged. */
export interface Hold {
  nonce: string;
  tool: string;
  pool: Pool;
  cost: number;
  at: Date;
}

/**
 * How a call ended, written in the same step that ended its hold and removed once it has been copied to `calls`,
 * `entries` and `events`. A call that held nothing is `refused`.
 */
export interface JournalEntry {
  id: string;
  callId: string;
  tool: string | null;
  state: 'charged' | 'refunded' | 'refused';
  cost: number;
  at: Date;
  code: string | null;
  /** The Idempotency-Key is free again. */
  release: boolean;
  seq: number;
  balanceAfter: number;
  events: { id: string; event: EventKind }[];
}

export interface AccountDoc {
  _id: string;
  email: string;
  createdAt: Date;
  /** Granted minus charged. */
  balance: number;
  /** Sum of the holds; what can be spent is balance - reserved. */
  reserved: number;
  /** What a negative adjustment could not take; above 0 the account is suspended. */
  shortfall: number;
  /** Number of the newest entry. */
  seq: number;
  monthlyAllowance: number;
  /** Last month for which it was granted, `2026-11`. */
  allowanceMonth?: string;
  /** When credits last came or went other than by a call. */
  grantedAt?: Date;
  /** Keys ever made; see `ApiKeys.create`. */
  keysMade: number;
  /** Webhook endpoints ever made; see `WebhookEndpoints.create`. */
  endpointsMade?: number;
  /** Holds by pool. */
  running: Partial<Record<Pool, number>>;
  holds: Record<string, Hold>;
  journal: JournalEntry[];
}

/** An account as it is shown and asked for: what runs now and what waits to be copied is the ledger's, and may be long. */
export type Account = Omit<AccountDoc, 'holds' | 'journal'>;

export type EntryType = 'charge' | 'signup' | 'purchase' | 'allowance' | 'adjustment' | 'recovery';

/** One line of the statement. The amounts of an account add up to its balance. */
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

/** A change of credits from outside a call; its id is its source's own, so that no retry can apply it twice. */
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

/** How far a dispute has come, in the order in which it can: money is withheld while it is open, and for good when lost. */
export const DISPUTE_STAGES = ['inquiry', 'open', 'lost', 'won'] as const;
export type DisputeStage = (typeof DISPUTE_STAGES)[number];

/** A payment and what was told of it, in whatever order. Until it is known to be paid it is nobody's. */
export interface PaymentDoc {
  /** The payment service's id. */
  _id: string;
  accountId: string | null;
  credits: number;
  /** In hundredths of the currency, like the amounts below. */
  amount: number;
  /** ISO 4217, in capitals. */
  currency: string;
  /** No money moved. */
  test: boolean;
  paidAt: Date | null;
  /** All refunds together. */
  refunded: number;
  disputes: { id: string; amount: number; stage: DisputeStage }[];
  /** Credits that were taken back. */
  taken: number;
  reportedAt: Date;
  /** Until it is paid: refunds of what we did not sell are told us as well. */
  forgetAt?: Date;
}

/** What the charges for one tool came to on one day. */
export interface DailyToolUsage {
  /** Midnight UTC at which the day began. */
  day: Date;
  tool: string;
  /** Credits. */
  charged: number;
}

/** What an account's charges of the last days add up to, so far; see `usageOf`. Its id is the account's. */
export interface UsageDoc {
  _id: string;
  /** Number of the last line that is in it. */
  seq: number;
  days: DailyToolUsage[];
}

export const CALL_STATES = ['running', 'charged', 'refunded', 'refused'] as const;
export type CallState = (typeof CALL_STATES)[number];

/** An answer that a caller is still waiting for, or did not get. See `pendingAnswers.ts` and `undelivered.ts`. */
export interface PendingAnswer {
  /** API process that has the caller's connection; null: there is none any more, and the sweeper settles the call. */
  process: string | null;
  /** Code of the error that the caller got in place of a result; null: none, or its connection was cut. */
  code: string | null;
}

/** A running API process; see `lease.ts`. */
export interface ApiProcessDoc {
  _id: string;
  renewedAt: Date;
}

/** One call: the usage log, and the record behind an Idempotency-Key. */
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
  /** When somebody last (re)started its workflow; the sweeper leaves fresh ones alone. */
  touchedAt: Date;
  finishedAt: Date | null;
  /** Sent at most once, so a crash does not free its Idempotency-Key. */
  actsOnWorld: boolean;
  /**
   * Set when the call is accepted, for callers who cannot ask for the result again; removed when the response was handed
   * to the operating system in full, when the call is refunded, or when its price was given back.
   */
  pendingAnswer?: PendingAnswer;
  idempotency?: {
    key: string;
    /** Null for a tool with secrets: those are never compared and never replayed. */
    fingerprint: string | null;
    expiresAt: Date;
  };
}

export interface ApiKeyDoc {
  _id: string;
  accountId: string;
  /** SHA-256 of the key, hex. The key itself is stored nowhere. */
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
  /** Its deliveries may not have been made yet. */
  pending?: true;
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
  /** When its feed last said it, or a value near it. */
  checkedAt: Date;
  /** What the feed says instead, for how long and how many times, while that is not believed. */
  doubted: { value: string; since: Date; times: number } | null;
}

/** A feed of quotes: what it said, by symbol, and which worker asks it now. */
export interface QuoteFeedDoc {
  _id: string;
  quotes: Record<string, StoredQuote>;
  holder: string | null;
  leasedAt: Date;
  leasedUntil: Date;
  retryAt: Date;
}

/** A master key that this database has been used with; see `masterKeys.ts`. */
export interface MasterKeyDoc {
  /** Id of the key. */
  _id: string;
  mac: string;
}

/** An open connection: the collections, typed. */
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
  usage: Collection<UsageDoc>;
  events: Collection<EventDoc>;
  results: Collection<ResultPieceDoc>;
  buckets: Collection<BucketDoc>;
  webhookEndpoints: Collection<WebhookEndpointDoc>;
  deliveries: Collection<DeliveryDoc>;
  deliveryAttempts: Collection<DeliveryAttemptDoc>;
  responseBodies: Collection<ResponseBodyDoc>;
  notices: Collection<NoticeDoc>;
  quotes: Collection<QuoteFeedDoc>;
  /** Runs the steps as one; they may be run again when another writer was faster. */
  transaction<T>(steps: (session: ClientSession) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Milliseconds to wait for a server, a connection or an answer; who must not give up calls again. */
const TIMEOUT_MS = 10_000;

/**
 * Connects with majority concerns everywhere: an answer that was given is never rolled back.
 *
 * @param timeoutMs longest wait for the answer to one command
 */
export async function openStore(uri: string, timeoutMs = TIMEOUT_MS): Promise<Store> {
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
  });
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
    usage: db.collection('usage'),
    events: db.collection('events'),
    results: db.collection('results'),
    buckets: db.collection('buckets'),
    webhookEndpoints: db.collection('webhookEndpoints'),
    deliveries: db.collection('deliveries'),
    deliveryAttempts: db.collection('deliveryAttempts'),
    responseBodies: db.collection('responseBodies'),
    notices: db.collection('notices'),
    quotes: db.collection('quotes'),
    transaction: (steps) => client.withSession((session) => session.withTransaction(() => steps(session))),
    close: () => client.close(),
  };
}

/** The server's code for a unique key that is taken. */
export const DUPLICATE_KEY = 11000;

/** The database or the way to it is down, or it was too slow; the same step may succeed later. */
export function isTransient(error: unknown): boolean {
  // MongoAPIError is misuse, or a client that was closed.
  if (error instanceof MongoError) return !(error instanceof MongoAPIError);
  // The driver lets some of the system's own errors through, as EPIPE.
  return error instanceof Error && 'code' in error && /^E[A-Z]+$/.test(String(error.code));
}

/** Somebody else wrote a row with this unique key first. */
export const isDuplicate = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === DUPLICATE_KEY;

/** Inserts rows whose ids make them idempotent: those that are there already are left as they are. */
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
