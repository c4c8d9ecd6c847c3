import type { IndexDescription } from 'mongodb';
import type { ErrorCode } from '../../schemas/errors.ts';
import type { EventKind } from '../../schemas/events.ts';
import type { TopUpFailure } from '../billing/topUpRunDocs.ts';

/** The deliveries that an activity of an endpoint's workflow attempts, and those that become due meanwhile. */
export interface Sending {
  /** Different for each run of the activity, so that one that was given up cannot take further deliveries. */
  by: string;
  /** Ids of the deliveries that it took last; those that are still `pending` are being attempted. */
  deliveryIds: string[];
  /** When the activity has ended, whatever happens to it. */
  until: Date;
}

/** A webhook endpoint of an account. Only the endpoint's workflow writes the fields from `state` on. */
export interface WebhookEndpointDoc {
  _id: string;
  accountId: string;
  url: string;
  /** Kinds of events that the endpoint receives; null: all, including future ones. */
  events: EventKind[] | null;
  createdAt: Date;
  /** Signing secret, encrypted, in base64. */
  secret: string;
  /**
   * New signing secret, also encrypted, which replaces `secret` at `from`, or earlier if the owner activates it. Null
   * if there is none.
   */
  next: { secret: string; from: Date } | null;
  state: 'active' | 'disabled';
  /** Number of consecutive failed attempts. */
  failures: number;
  /**
   * Number of times the endpoint was re-enabled. Results of attempts that started in an earlier epoch are ignored.
   */
  epoch: number;
  /** After a failed attempt, the earliest time of the next one; else null. */
  notBefore: Date | null;
  disabledAt: Date | null;
  /** Number of the workflow's newest write to this document. Late writes have a lower number and are ignored. */
  turn: number;
  /** Missing if no activity sends, see `store/webhooks/sending.ts`. */
  sending?: Sending;
}

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'held';

/** The delivery of an event to an endpoint. The id derives from the ids of both. */
export interface DeliveryDoc {
  _id: string;
  accountId: string;
  endpointId: string;
  eventId: string;
  event: EventKind;
  /** When the event occurred. */
  createdAt: Date;
  state: DeliveryState;
  /** Total number of attempts. */
  attempts: number;
  /** Number of attempts since the delivery was queued or last resent. */
  tries: number;
  /** Time of the next attempt; null if none is scheduled. */
  nextAt: Date | null;
}

/** A completed attempt of a delivery. The document is never changed. */
export interface DeliveryAttemptDoc {
  _id: string;
  accountId: string;
  endpointId: string;
  eventId: string;
  event: EventKind;
  attempt: number;
  at: Date;
  /** HTTP status of the response; null if there was none, and `error` says why. */
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  /** The receiver's `Retry-After` in milliseconds; null if there was none. */
  retryAfterMs: number | null;
}

/** An email to the owner of an account. */
export type NoticeDoc = DisabledNotice | BalanceNotice | RefusedNotice | BudgetNotice | TopUpNotice;

interface Notice {
  _id: string;
  accountId: string;
  /** Time of the change that the email reports. */
  at: Date;
  /** Number of attempts to send the email. */
  tries: number;
  /** Time of the next attempt to send the email; null once it was sent or given up. */
  dueAt: Date | null;
}

/** Tells that an endpoint was disabled; one each time it is disabled. The id consists of the endpoint's id and epoch. */
export interface DisabledNotice extends Notice {
  /** Missing in documents of earlier releases, which all have this kind. */
  kind?: 'disabled';
  endpointId: string;
  url: string;
}

/** Tells that a charge took the balance below thresholds of the owner. The id derives from that of the journal entry. */
export interface BalanceNotice extends Notice {
  kind: 'balance';
  balance: number;
  thresholds: number[];
}

/** Tells that requests of the account were refused; at most one a day. */
export interface RefusedNotice extends Notice {
  kind: 'refused';
  code: ErrorCode;
  tool: string | null;
  keyPrefix: string | null;
}

/** Tells that a key has spent a share of a budget; one for each share of a day or month. */
export interface BudgetNotice extends Notice {
  kind: 'budget';
  keyId: string;
  keyName: string;
  period: 'day' | 'month';
  percent: number;
  /** Credits of the budget. */
  credits: number;
}

/** Tells that an automatic top-up failed. */
export interface TopUpNotice extends Notice {
  kind: 'topUp';
  reason: TopUpFailure;
  /** Whether the failure switched automatic top-ups off. */
  isOff: boolean;
}

export type StoredHeader = [name: string, value: string];

/**
 * Request and response of an attempt, which are kept for a shorter time than the attempt. The document's id is the
 * attempt's id. Documents of earlier releases contain only the response body.
 */
export interface AttemptContentDoc {
  _id: string;
  /** Missing in documents of earlier releases. */
  accountId?: string;
  /** URL to which the event was posted, without its query. */
  url?: string;
  /** Headers of the request. They contain the signatures, and no secret. */
  requestHeaders?: StoredHeader[];
  /** Headers of the response; null if there was no response. */
  responseHeaders?: StoredHeader[] | null;
  /** First part of the response body; null if there was no response. */
  body: string | null;
  expiresAt: Date;
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

export const EVENT_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, createdAt: -1, _id: -1 } },
  { key: { accountId: 1, event: 1, createdAt: -1, _id: -1 } },
  { key: { createdAt: 1 }, partialFilterExpression: { pending: true } },
];

export const WEBHOOK_ENDPOINT_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, createdAt: -1, _id: -1 } },
];

/**
 * Retention of deliveries that failed or are held, in seconds after their events: 90 days, much longer than they can be
 * resent.
 */
const UNDELIVERED_SECONDS = 90 * 86_400;

export const DELIVERY_INDEXES: IndexDescription[] = [
  { key: { eventId: 1 } },
  { key: { accountId: 1, state: 1, event: 1, createdAt: -1, eventId: -1 } },
  { key: { endpointId: 1, state: 1, nextAt: 1 } },
  { key: { nextAt: 1 }, partialFilterExpression: { state: 'pending' } },
  {
    key: { createdAt: 1 },
    expireAfterSeconds: UNDELIVERED_SECONDS,
    partialFilterExpression: { state: { $in: ['failed', 'held'] } },
  },
];

export const DELIVERY_ATTEMPT_INDEXES: IndexDescription[] = [
  { key: { endpointId: 1, at: -1, _id: -1 } },
  { key: { accountId: 1, at: -1 } },
];

export const ATTEMPT_CONTENT_INDEXES: IndexDescription[] = [
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { key: { accountId: 1, expiresAt: -1 } },
];

/** Retention of notices in seconds. Longer than any retry, so that an owner is notified only once. */
const NOTICE_SECONDS = 14 * 86_400;

export const NOTICE_INDEXES: IndexDescription[] = [
  { key: { dueAt: 1 } },
  { key: { accountId: 1, at: -1, _id: -1 } },
  { key: { at: 1 }, expireAfterSeconds: NOTICE_SECONDS },
];
