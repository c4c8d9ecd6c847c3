import type { EventKind } from '../schemas/events.ts';

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

/** A completed attempt of a delivery. The document is never changed or deleted. */
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

/** An email that tells the owner that an endpoint was disabled; one each time it is disabled. */
export interface NoticeDoc {
  /** Id and epoch of the endpoint. */
  _id: string;
  accountId: string;
  endpointId: string;
  url: string;
  /** Time at which the endpoint was disabled. */
  at: Date;
  /** Number of attempts to send the email. */
  tries: number;
  /** Time of the next attempt to send the email; null once it was sent or given up. */
  dueAt: Date | null;
}

/** Body of a receiver's response to an attempt. The document's id is the attempt's id. */
export interface ResponseBodyDoc {
  _id: string;
  body: string;
  expiresAt: Date;
}
