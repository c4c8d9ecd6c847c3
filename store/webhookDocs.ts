import type { EventKind } from '../schemas/events.ts';

/** Where events of an account are posted to. What its workflow owns is written by that alone. */
export interface WebhookEndpointDoc {
  _id: string;
  accountId: string;
  url: string;
  /** Null: every kind, also ones to come. */
  events: EventKind[] | null;
  createdAt: Date;
  /** Sealed, base64. */
  secret: string;
  /** A newer secret that takes over at `from`, or when its owner says so. */
  next: { secret: string; from: Date } | null;
  /** From here on the workflow's. */
  state: 'active' | 'disabled';
  /** Failed attempts in a row. */
  failures: number;
  /** Times it was enabled; results of attempts from before do not count. */
  epoch: number;
  /** No attempt before this, after a failure. */
  notBefore: Date | null;
  disabledAt: Date | null;
  /** Number of the workflow's newest write, so that one which comes late changes nothing. */
  turn: number;
}

export type DeliveryState = 'pending' | 'delivered' | 'failed' | 'held';

/** An event on its way to an endpoint; its id follows from those of both. */
export interface DeliveryDoc {
  _id: string;
  accountId: string;
  endpointId: string;
  eventId: string;
  event: EventKind;
  /** When the event happened. */
  createdAt: Date;
  state: DeliveryState;
  /** Attempts made in all. */
  attempts: number;
  /** Attempts made since it was queued, or queued again. */
  tries: number;
  /** When the next attempt is due; null when none is. */
  nextAt: Date | null;
}

/** One attempt, for good. */
export interface DeliveryAttemptDoc {
  _id: string;
  accountId: string;
  endpointId: string;
  eventId: string;
  event: EventKind;
  attempt: number;
  at: Date;
  /** Null: there was no response; `error` says why. */
  statusCode: number | null;
  durationMs: number;
  error: string | null;
  /** How long the receiver asked to be left alone; null: it did not. */
  retryAfterMs: number | null;
}

/** An owner is to be told by mail that an endpoint was disabled; one for each time that it was. */
export interface NoticeDoc {
  /** From the endpoint and its epoch, so that each disabling has one. */
  _id: string;
  accountId: string;
  endpointId: string;
  url: string;
  /** When it was disabled. */
  at: Date;
  /** Times that somebody began to send it. */
  tries: number;
  /** When it is to be sent; null once that is done, or given up. */
  dueAt: Date | null;
}

/** What a receiver answered, under the id of the attempt. */
export interface ResponseBodyDoc {
  _id: string;
  body: string;
  expiresAt: Date;
}
