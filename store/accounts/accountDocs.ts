import type { IndexDescription } from 'mongodb';
import type { BalanceEventKind } from '../../schemas/events.ts';
import type { Pool } from '../../schemas/pools.ts';

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
 * What a hold counts as: a synchronous call in its pool, or a job. Jobs are counted apart, so that they neither use up the calls that
 * an account may run nor take synchronous calls out of the lane `first`.
 */
export type HoldPool = Pool | 'jobs';

/**
 * Credits reserved for a running call. The nonce identifies the reservation: a charge requires the hold with the
 * nonce that its own reservation returned.
 */
export interface Hold {
  nonce: string;
  tool: string;
  pool: HoldPool;
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
 * Digests of the input and output of a charged call, for its receipt: HMAC-SHA-256 with the keys of
 * `store/receipts/digests.ts`, in base64url.
 */
export interface CallDigests {
  /** Number of the receipt key from which the keys of the digests derive. */
  key: number;
  /** Of the input without secret fields, as canonical JSON (RFC 8785). */
  input: string;
  /** Of the output as JSON, byte for byte as the caller gets it. */
  output: string;
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
  events: { id: string; event: BalanceEventKind }[];
  /** The owner's thresholds that the charge crossed; missing in entries without a charge. */
  alerts?: number[];
  /** Set if the charge crossed the threshold of automatic top-ups. */
  topUp?: true;
  /** The period of a charged call's hold. */
  period?: SpendPeriod;
  /** When the price was reserved; missing if it was not. */
  reservedAt?: Date;
  /** Missing if no attempt of the tool has ended. */
  times?: ToolTimes;
  /** Missing if the call was not charged. */
  digests?: CallDigests;
  /** `traceparent` of the span in which the call ended; missing if traces are not exported. */
  traceparent?: string;
}

/** Details for invoices that the owner of an account has entered. */
export interface BillingDetails {
  name: string;
  /** Postal address in one line. */
  address: string;
  /** ISO 3166-1 code in upper case. */
  country: string;
  vatId: string | null;
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
  /** Set while an operator has suspended the account; see `suspension.ts`. The owner sees the reason. */
  suspension?: { at: Date; reason: string };
  /** Until then the account may make no new calls, because too many ended without a charge; see `api/calls/retention.ts`. */
  pausedUntil?: Date;
  monthlyAllowance: number;
  /** Newest month for which the allowance was granted, such as `2026-11`. */
  allowanceMonth?: string;
  /** Time of the last grant or negative adjustment. */
  grantedAt?: Date;
  /** Programs may buy at most `ceiling` credits per month (UTC); they bought `credits` in the month of the last purchase. Missing: none. */
  topUps?: { ceiling: number; month: string; credits: number };
  /** Thresholds in credits: when a charge takes the balance below one, the owner gets an email. */
  alerts?: number[];
  /** Whether the owner gets an email when requests are refused and when a key nears its budget. */
  mailsAttention?: true;
  /** Threshold of automatic top-ups in credits, while they are on; see `store/billing/topUpRuns.ts`. */
  topUpBelow?: number;
  /** For invoices, which copy it. */
  billing?: BillingDetails;
  /**
   * Number of API keys ever created. Each creation increments it, so that concurrent creations conflict; see
   * `ApiKeys.create`.
   */
  keysMade: number;
  /** Number of webhook endpoints ever created, incremented for the same reason; see `WebhookEndpoints.create`. */
  endpointsMade?: number;
  /** Number of schedules ever created, incremented for the same reason; see `Schedules.create`. */
  schedulesMade?: number;
  /** Number of holds by pool, which is the number of running calls. */
  running: Partial<Record<HoldPool, number>>;
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

/** Leaves out the fields of an `AccountDoc` that an `Account` does not have. */
export const ACCOUNT_PROJECTION = { holds: 0, journal: 0 };

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

/** The right to export an account; see `exportLease.ts`. The document's id is the id of the account. */
export interface ExportLeaseDoc {
  _id: string;
  holder: string;
  until: Date;
}

/** Index for searches by a part of an email address: each address is compared within the index, newest accounts first. */
export const ACCOUNT_SEARCH_INDEX = { createdAt: -1, _id: -1, email: 1 } as const;

export const ACCOUNT_INDEXES: IndexDescription[] = [
  { key: { email: 1 }, unique: true },
  { key: ACCOUNT_SEARCH_INDEX },
  ...(['closedEmail', 'formerEmails'] as const).map((field) => ({
    key: { [field]: 1 },
    partialFilterExpression: { [field]: { $exists: true } },
  })),
  { key: { reserved: 1 }, partialFilterExpression: { reserved: { $gt: 0 } } },
  { key: { monthlyAllowance: 1 }, partialFilterExpression: { monthlyAllowance: { $gt: 0 } } },
];

export const ENTRY_INDEXES: IndexDescription[] = [{ key: { accountId: 1, seq: -1 }, unique: true }];

export const GRANT_INDEXES: IndexDescription[] = [{ key: { accountId: 1, at: -1, _id: -1 } }];
