import type { FromSchema } from 'json-schema-to-ts';
import { EVENT_KINDS } from './events.ts';

/** What the operations on webhook endpoints take and answer, and the types of it. */
const timestamp = { type: 'string', format: 'date-time' } as const;
const optionalTimestamp = { type: ['string', 'null'], format: 'date-time' } as const;

const url = {
  type: 'string',
  minLength: 1,
  maxLength: 2048,
  description: 'Where events are posted to: `https`, or `http` where the host is exactly `localhost`.',
} as const;

const kinds = {
  type: 'array',
  items: { type: 'string', enum: EVENT_KINDS },
  minItems: 1,
  uniqueItems: true,
} as const;

const endpointFields = {
  id: { type: 'string', description: 'Id of the endpoint.' },
  url,
  events: { ...kinds, description: 'Kinds of event it gets. A test comes whether it is listed or not.' },
  state: {
    type: 'string',
    enum: ['active', 'disabled'],
    description: '`disabled`: 20 attempts in a row failed, and nothing is posted until it is enabled.',
  },
  consecutiveFailures: { type: 'integer', minimum: 0, description: 'Failed attempts in a row.' },
  createdAt: { ...timestamp, description: 'When it was made.' },
  disabledAt: { ...optionalTimestamp, description: 'When it was disabled, or null.' },
  rotationEndsAt: {
    ...optionalTimestamp,
    description: 'When a new secret that still waits takes over from the old one; null: none waits.',
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
    secret: { type: 'string', description: 'The signing secret. It is shown this once.' },
  },
  required: [...endpointRequired, 'secret'],
  additionalProperties: false,
} as const;

export const newWebhookBody = {
  type: 'object',
  properties: {
    url,
    events: { ...kinds, description: 'Kinds of event it is to get. Left out: all, also kinds to come.' },
  },
  required: ['url'],
  additionalProperties: false,
} as const;

export const webhookChangeBody = {
  type: 'object',
  properties: {
    url: { ...url, description: 'New address; what is still to be delivered goes there too.' },
    events: {
      type: ['array', 'null'],
      items: kinds.items,
      minItems: 1,
      uniqueItems: true,
      description: 'Kinds of event it is to get from now on; null for all.',
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
      description: 'Replace a secret that is still waiting to be activated.',
    },
  },
  required: [],
  additionalProperties: false,
} as const;

export const rotatedSecret = {
  type: 'object',
  properties: { secret: { type: 'string', description: 'The new signing secret. It is shown this once.' } },
  required: ['secret'],
  additionalProperties: false,
} as const;

export const resendBody = {
  type: 'object',
  properties: {
    since: { ...timestamp, description: 'Those of events since this time.' },
    deliveryIds: {
      type: 'array',
      items: { type: 'string', maxLength: 64 },
      minItems: 1,
      maxItems: 500,
      uniqueItems: true,
      description: 'These.',
    },
  },
  required: [],
  minProperties: 1,
  maxProperties: 1,
  additionalProperties: false,
} as const;

export const resent = {
  type: 'object',
  properties: { queued: { type: 'integer', minimum: 0, description: 'Deliveries that are queued again.' } },
  required: ['queued'],
  additionalProperties: false,
} as const;

export const attempt = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the attempt.' },
    eventId: { type: 'string', description: 'Id of the event.' },
    event: { type: 'string', enum: EVENT_KINDS, description: 'Kind of event.' },
    attempt: {
      type: 'integer',
      minimum: 1,
      description: 'Number of the attempt to deliver this event here.',
    },
    at: { ...timestamp, description: 'When it began.' },
    statusCode: { type: ['integer', 'null'], description: 'Status of the response, or null without one.' },
    durationMs: { type: 'integer', description: 'Milliseconds to the end of the response headers.' },
    error: { type: ['string', 'null'], description: 'Why there was no response, or null.' },
    responseBody: {
      type: ['string', 'null'],
      description:
        'The first 16 KiB of the response as text, for 30 days; then, or without a response, null.',
    },
  },
  required: ['id', 'eventId', 'event', 'attempt', 'at', 'statusCode', 'durationMs', 'error', 'responseBody'],
  additionalProperties: false,
} as const;

export type WebhookRow = FromSchema<typeof webhook>;
export type NewWebhookBody = FromSchema<typeof newWebhookBody>;
export type WebhookChangeBody = FromSchema<typeof webhookChangeBody>;
export type ResendBody = FromSchema<typeof resendBody>;
export type AttemptRow = FromSchema<typeof attempt>;
