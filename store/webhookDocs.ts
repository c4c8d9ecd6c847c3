import type { EventKind } from '../schemas/events.ts';

/** An endpoint for an account's events. Only its workflow writes the fields from `state` on. */
export interface WebhookEndpointDoc {
  _id: string;
  accountId: string;
  url: string;
  /** Null: all kinds, including future ones. */
  events: EventKind[] | null;
  createdAt: Date;
  /** Encrypted, base64. */
  secret: string;
  /** A new secret that replaces `secret` at `from`, or earlier when the owner activates it. */
  next: { secret: string; from: Date } | null;
  state: 'active' | 'disabled';
  /** Consecutive failed attempts. */
  failures: number;
  /** Number of times it was enabled. Results of earlier attempts do not count. */
  epoch: number;
  /** After a failure: earliest time of the next attempt. */
  notBefore: Date | null;
  disabledAt: Date | null;
  /** Number of the workflow's newest write, so that late writes are ignored. */
  turn: number;
}

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'held';

/** The delivery of an event to an endpoint. Its id derives from both ids. */
export interface DeliveryDoc {
  _id: string;
  accountId: string;
  endpointId: string;
  eventId: string;
  event: EventKind;
  /** Time of the event. */
  createdAt: Date;
  state: DeliveryState;
  /** Attempts in total. */
  attempts: number;
  /** Attempts since the delivery was queued or resent. */
  tries: number;
  /** Time of the next attempt; null if none is scheduled. */
  nextAt: Date | null;
}

/** A completed attempt. Never changed or deleted. */
export interface DeliveryAttemptDoc {
  _id: string;
  accountId: string;
  endpointId: string;
  eventId: string;
  event: EventKind;
  attempt: number;
  at: Date;
  /** Null if there was no response; `error` has the reason. */
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  /** The receiver's `Retry-After` in milliseconds, or null. */
  retryAfterMs: number | null;
}

/** A mail to the owner about a disabled endpoint; one each time it is disabled. */
export interface NoticeDoc {
  /** Endpoint id and epoch. */
  _id: string;
  accountId: string;
  endpointId: string;
  url: string;
  /** Time at which the endpoint was disabled. */
  at: Date;
  /** Attempts to send it. */
  tries: number;
  /** Time of the next attempt; null once it was sent or dropped. */
  dueAt: Date | null;
}

/** Body of a receiver's response. The id is the attempt's. */
export interface ResponseBodyDoc {
  _id: string;
  body: string;
  expiresAt: Date;
}
