import type { FromSchema } from 'json-schema-to-ts';
import { EVENT_KINDS } from './events.ts';

/** What the Account API takes and answers, and the types of it. */
export const timestamp = { type: 'string', format: 'date-time' } as const;
const optionalTimestamp = { type: ['string', 'null'], format: 'date-time' } as const;
const optionalText = { type: ['string', 'null'] } as const;
const scopes = {
  type: 'array',
  items: { type: 'string', enum: ['tools', 'account'] },
  minItems: 1,
  maxItems: 1,
} as const;

export const account = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the account.' },
    email: { type: 'string', description: "Its owner's e-mail address." },
    balance: { type: 'integer', description: 'Credits granted minus credits charged.' },
    reserved: { type: 'integer', description: 'Cost of the calls that run now.' },
    available: { type: 'integer', description: 'What a new call can spend: balance minus reserved.' },
    lowThreshold: { type: 'integer', description: 'Balance below which `credits.low` fires.' },
    monthlyAllowance: { type: 'integer', description: 'Credits granted each month.' },
  },
  required: ['id', 'email', 'balance', 'reserved', 'available', 'lowThreshold', 'monthlyAllowance'],
  additionalProperties: false,
} as const;

export const call = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the call.' },
    tool: { type: 'string', description: 'Tool that was called.' },
    cost: { type: 'integer', description: 'Price of the call in credits.' },
    charged: { type: 'integer', description: 'Credits charged: the cost, or 0.' },
    state: {
      type: 'string',
      enum: ['running', 'charged', 'refunded', 'refused'],
      description: '`refused`: it ended before any credits were reserved.',
    },
    code: { ...optionalText, description: 'Error code, or null when there was a result or it still runs.' },
    startedAt: { ...timestamp, description: 'When it was accepted.' },
    durationMs: {
      type: ['integer', 'null'],
      description: 'Milliseconds from its acceptance to its settlement, or null while it runs.',
    },
    keyPrefix: {
      ...optionalText,
      description: 'Prefix of the key it came with, or null from the dashboard.',
    },
  },
  required: ['id', 'tool', 'cost', 'charged', 'state', 'code', 'startedAt', 'durationMs', 'keyPrefix'],
  additionalProperties: false,
} as const;

/** A line of the statement; the columns of its CSV are these, in this order. */
export const ledgerEntry = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the line.' },
    at: { ...timestamp, description: 'When the balance changed.' },
    type: {
      type: 'string',
      enum: ['charge', 'signup', 'purchase', 'allowance', 'adjustment', 'recovery'],
      description: '`recovery`: new credits that settled what an earlier adjustment could not take.',
    },
    amount: { type: 'integer', description: 'Credits added, or taken when below zero.' },
    balanceAfter: { type: 'integer', description: 'Balance that the line left.' },
    callId: { ...optionalText, description: 'Call that was charged, or null.' },
    tool: { ...optionalText, description: 'Its tool, or null.' },
    source: { ...optionalText, description: 'Where credits came from, or null for a charge.' },
    reference: { ...optionalText, description: 'Id at that source, or null.' },
  },
  required: ['id', 'at', 'type', 'amount', 'balanceAfter', 'callId', 'tool', 'source', 'reference'],
  additionalProperties: false,
} as const;

const keyFields = {
  id: { type: 'string', description: 'Id of the key.' },
  name: { type: 'string', description: 'Its name.' },
  prefix: { type: 'string', description: 'Its first 9 characters, to tell keys apart.' },
  scopes: { ...scopes, description: '`tools` calls tools, `account` manages the account.' },
  tools: {
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'Tools it may call, or null for all.',
  },
  createdAt: { ...timestamp, description: 'When it was created.' },
  lastUsedAt: { ...optionalTimestamp, description: 'When it was last used (to some seconds), or null.' },
  expiresAt: { ...optionalTimestamp, description: 'When it stops working, or null.' },
  revokedAt: { ...optionalTimestamp, description: 'When it was revoked, or null.' },
} as const;

const keyRequired = [
  'id',
  'name',
  'prefix',
  'scopes',
  'tools',
  'createdAt',
  'lastUsedAt',
  'expiresAt',
  'revokedAt',
] as const;

export const key = {
  type: 'object',
  properties: keyFields,
  required: keyRequired,
  additionalProperties: false,
} as const;

export const newKey = {
  type: 'object',
  properties: {
    ...keyFields,
    key: { type: 'string', description: 'The key itself. It is shown this once.' },
  },
  required: [...keyRequired, 'key'],
  additionalProperties: false,
} as const;

export const newKeyBody = {
  type: 'object',
  properties: {
    name: {
      type: 'string',
      minLength: 1,
      maxLength: 100,
      // No control characters, and something to see; written out, as not every reader of the reference knows \p{Cc}.
      pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]*$',
      description: 'What to call it: up to 100 characters, not spaces alone, no control characters.',
    },
    scopes: { ...scopes, description: 'Exactly one: `tools` calls tools, `account` manages the account.' },
    tools: {
      type: ['array', 'null'],
      items: { type: 'string' },
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      default: null,
      description: 'Tools it may call; null for all. Only with the scope `tools`.',
    },
    expiresAt: {
      ...optionalTimestamp,
      default: null,
      description: 'Future time at which it stops working; null for never.',
    },
  },
  required: ['name', 'scopes'],
  additionalProperties: false,
} as const;

export const delivery = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the delivery.' },
    endpointId: { type: 'string', description: 'Webhook endpoint it goes to.' },
    state: {
      type: 'string',
      enum: ['pending', 'delivered', 'failed', 'held'],
      description: '`held`: its endpoint is disabled.',
    },
    attempts: { type: 'integer', description: 'Attempts made so far.' },
    nextAt: { ...optionalTimestamp, description: 'When the next attempt is due, or null.' },
  },
  required: ['id', 'endpointId', 'state', 'attempts', 'nextAt'],
  additionalProperties: false,
} as const;

export const event = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the event; the same on every attempt to deliver it.' },
    event: { type: 'string', enum: EVENT_KINDS, description: 'Kind of event.' },
    createdAt: { ...timestamp, description: 'When it happened.' },
    data: { type: 'object', additionalProperties: true, description: 'What the kind of event says.' },
    deliveries: { type: 'array', items: delivery, description: 'One for each endpoint that wants it.' },
  },
  required: ['id', 'event', 'createdAt', 'data', 'deliveries'],
  additionalProperties: false,
} as const;

export type AccountRow = FromSchema<typeof account>;
export type CallRow = FromSchema<typeof call>;
export type EntryRow = FromSchema<typeof ledgerEntry>;
export type KeyRow = FromSchema<typeof key>;
export type NewKeyBody = FromSchema<typeof newKeyBody>;
export type DeliveryRow = FromSchema<typeof delivery>;
export type EventRow = FromSchema<typeof event>;
