import type { FromSchema } from 'json-schema-to-ts';
import { EVENT_KINDS } from './events.ts';

/** This file contains the request and response schemas of the operations on webhook endpoints, and their types. */
const timestamp = { type: 'string', format: 'date-time' } as const;
const optionalTimestamp = { type: ['string', 'null'], format: 'date-time' } as const;

const url = {
  type: 'string',
  minLength: 1,
  maxLength: 2048,
  description:
    'URL to which events are posted. The scheme is `https`, or `http` if the host is exactly `localhost`.',
} as const;

export const eventKind = { type: 'string', enum: EVENT_KINDS, description: 'Kind of event.' } as const;

const kinds = {
  type: 'array',
  items: eventKind,
  minItems: 1,
  uniqueItems: true,
} as const;

const endpointFields = {
  id: { type: 'string', description: 'Id of the endpoint.' },
  url,
  events: {
    ...kinds,
    description:
      'Events that the endpoint receives. Test events are sent even if `webhook.test` is not listed.',
  },
  state: {
    type: 'string',
    enum: ['active', 'disabled'],
    description:
      'State of the endpoint. `disabled`: nothing is posted until the endpoint is enabled again. Endpoints are disabled after 20 consecutive failed attempts, or by an operator.',
  },
  consecutiveFailures: { type: 'integer', minimum: 0, description: 'Consecutive failed attempts.' },
  createdAt: { ...timestamp, description: 'When the endpoint was created.' },
  disabledAt: { ...optionalTimestamp, description: 'When the endpoint was disabled; null if it is active.' },
  rotationEndsAt: {
    ...optionalTimestamp,
    description: 'When a pending new secret replaces the old one; null if no rotation is pending.',
  },
} as const;

const endpointRequired = [
  'id',
  'url',
  'events',
  'state',
  'consecutiveFailures',
  'createdAt',
  'disabledAt',
  'rotationEndsAt',
] as const;

export const webhook = {
  type: 'object',
  properties: endpointFields,
  required: endpointRequired,
  additionalProperties: false,
} as const;

export const newWebhook = {
  type: 'object',
  properties: {
    ...endpointFields,
    secret: { type: 'string', description: 'The signing secret. It is shown only once.' },
  },
  required: [...endpointRequired, 'secret'],
  additionalProperties: false,
} as const;

export const newWebhookBody = {
  type: 'object',
  properties: {
    url,
    events: {
      ...kinds,
      description: 'Events that the endpoint receives. Default: all, including events introduced later.',
    },
  },
  required: ['url'],
  additionalProperties: false,
} as const;

export const webhookChangeBody = {
  type: 'object',
  properties: {
    url: { ...url, description: 'New URL. Events not yet delivered are also sent to it.' },
    events: {
      type: ['array', 'null'],
      items: kinds.items,
      minItems: 1,
      uniqueItems: true,
      description:
        'Events that the endpoint receives from now on; null: all, including events introduced later.',
    },
  },
  required: [],
  minProperties: 1,
  additionalProperties: false,
} as const;

export const rotateBody = {
  type: 'object',
  properties: {
    force: {
      type: 'boolean',
      default: false,
      description: 'Whether to replace the new secret of a rotation that is still pending.',
    },
  },
  required: [],
  additionalProperties: false,
} as const;

export const rotatedSecret = {
  type: 'object',
  properties: { secret: { type: 'string', description: 'The new signing secret. It is shown only once.' } },
  required: ['secret'],
  additionalProperties: false,
} as const;

export const testBody = {
  type: 'object',
  properties: {
    event: {
      type: 'string',
      enum: EVENT_KINDS,
      default: 'webhook.test',
      description: 'Kind of event to send. Its `data` is an example.',
    },
  },
  required: [],
  additionalProperties: false,
} as const;

export const resendBody = {
  type: 'object',
  properties: {
    since: {
      ...timestamp,
      description: 'Resend held and failed deliveries of events that occurred at this time or later.',
    },
    deliveryIds: {
      type: 'array',
      items: { type: 'string', maxLength: 64 },
      minItems: 1,
      maxItems: 500,
      uniqueItems: true,
      description:
        'Ids of the deliveries to resend, which may also be delivered ones or wait for their next attempt.',
    },
  },
  required: [],
  minProperties: 1,
  maxProperties: 1,
  additionalProperties: false,
} as const;

export const resent = {
  type: 'object',
  properties: {
    queued: { type: 'integer', minimum: 0, description: 'Number of deliveries that were queued.' },
  },
  required: ['queued'],
  additionalProperties: false,
} as const;

const headers = {
  type: ['array', 'null'],
  items: {
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Name of the header.' },
      value: { type: 'string', description: 'Value of the header.' },
    },
    required: ['name', 'value'],
    additionalProperties: false,
  },
} as const;

export const attempt = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the attempt.' },
    deliveryId: { type: 'string', description: 'Id of the delivery.' },
    eventId: { type: 'string', description: 'Id of the event.' },
    event: { type: 'string', enum: EVENT_KINDS, description: 'Kind of event.' },
    attempt: {
      type: 'integer',
      minimum: 1,
      description: 'Number of the attempt within its delivery, from 1.',
    },
    at: { ...timestamp, description: 'When the attempt began.' },
    statusCode: {
      type: ['integer', 'null'],
      description: 'HTTP status code of the response; null if there was no response.',
    },
    durationMs: {
      type: 'integer',
      description: 'Milliseconds from the start of the attempt to the end of the response headers.',
    },
    error: { type: ['string', 'null'], description: 'Why there was no response; null if there was one.' },
    responseBody: {
      type: ['string', 'null'],
      description:
        'First 16 KiB of the response body as text; null if there was no response or it is more than 30 days old.',
    },
    url: {
      type: ['string', 'null'],
      description:
        'URL to which the event was posted, without its query; null if the attempt is more than 30 days old.',
    },
    requestHeaders: {
      ...headers,
      description:
        'Headers of the request in addition to `Host` and `Content-Length`; null if the attempt is more than 30 days old.',
    },
    responseHeaders: {
      ...headers,
      description:
        'Headers of the response, at most 8 KiB and without the values of cookies; null if there was no response or it is more than 30 days old.',
    },
  },
  required: [
    'id',
    'deliveryId',
    'eventId',
    'event',
    'attempt',
    'at',
    'statusCode',
    'durationMs',
    'error',
    'responseBody',
    'url',
    'requestHeaders',
    'responseHeaders',
  ],
  additionalProperties: false,
} as const;

export type WebhookRow = FromSchema<typeof webhook>;
export type NewWebhookBody = FromSchema<typeof newWebhookBody>;
export type WebhookChangeBody = FromSchema<typeof webhookChangeBody>;
export type TestBody = FromSchema<typeof testBody>;
export type ResendBody = FromSchema<typeof resendBody>;
export type AttemptRow = FromSchema<typeof attempt>;
