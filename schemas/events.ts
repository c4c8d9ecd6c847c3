import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import type { ObjectSchema } from './tool.ts';

/** Balance below which `credits.low` fires. */
export const LOW_CREDITS = 25;

export const EVENT_KINDS = [
  'credits.low',
  'credits.exhausted',
  'credits.granted',
  'api_key.created',
  'api_key.revoked',
  'webhook.test',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** What the reference says of an event, and the JSON Schema of its `data`, from which its type derives. */
interface EventDefinition {
  /** When it fires. */
  summary: string;
  data: ObjectSchema;
  example: Readonly<Record<string, unknown>>;
}

const balance = { type: 'integer', minimum: 0, description: 'Credits remaining on the account.' } as const;
const message = { type: 'string', description: 'The same in words.' } as const;

const apiKey = {
  type: 'object',
  properties: {
    keyId: { type: 'string', description: 'Id of the key.' },
    name: { type: 'string', description: 'Its name.' },
    prefix: { type: 'string', description: 'Its first 9 characters; the key itself is never sent.' },
  },
  required: ['keyId', 'name', 'prefix'],
  additionalProperties: false,
} as const;
const apiKeyExample = {
  keyId: 'key_0b8f6c1e-6f0e-4f7e-9a52-3b1d5c0e8f11',
  name: 'website',
  prefix: 'ut_4kQz7B',
};

/** Every event that is posted to webhook endpoints. */
export const EVENTS = {
  'credits.low': {
    summary: `A charge took the balance from ${LOW_CREDITS} or more to below ${LOW_CREDITS}.`,
    data: {
      type: 'object',
      properties: {
        balance,
        threshold: { type: 'integer', const: LOW_CREDITS, description: 'Balance below which it fires.' },
        message,
      },
      required: ['balance', 'threshold', 'message'],
      additionalProperties: false,
    },
    example: { balance: 24, threshold: LOW_CREDITS, message: 'Only 24 credits are left.' },
  },
  'credits.exhausted': {
    summary: 'A charge took the balance to zero; calls are refused with 402 from then on.',
    data: {
      type: 'object',
      properties: { balance, message },
      required: ['balance', 'message'],
      additionalProperties: false,
    },
    example: {
      balance: 0,
      message: 'No credits are left; calls are refused until credits are added.',
    },
  },
  'credits.granted': {
    summary: 'Credits were added by a purchase, the monthly allowance or an operator.',
    data: {
      type: 'object',
      properties: {
        balance,
        amount: { type: 'integer', minimum: 1, description: 'Credits added.' },
        source: {
          type: 'string',
          enum: ['purchase', 'allowance', 'adjustment'],
          description: 'Where they came from.',
        },
        reference: { type: 'string', description: 'Id at that source, such as the payment.' },
      },
      required: ['balance', 'amount', 'source', 'reference'],
      additionalProperties: false,
    },
    example: { balance: 1250, amount: 1000, source: 'purchase', reference: 'pi_3MtwBwLkdIwHu7ix28a3tqPa' },
  },
  'api_key.created': { summary: 'A key was created.', data: apiKey, example: apiKeyExample },
  'api_key.revoked': { summary: 'A key was revoked.', data: apiKey, example: apiKeyExample },
  'webhook.test': {
    summary: 'The owner pressed Send test.',
    data: {
      type: 'object',
      properties: {
        message,
        endpointId: { type: 'string', description: 'Webhook endpoint that was tested.' },
      },
      required: ['message', 'endpointId'],
      additionalProperties: false,
    },
    example: {
      message: 'This is a test; no credits moved.',
      endpointId: 'whe_5d0c2c9e-7f0b-4b5e-8d37-4f2a8e9b6c10',
    },
  },
} as const satisfies Record<EventKind, EventDefinition>;

type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : never;
/** The `data` of an event of this kind. */
export type EventData<K extends EventKind> = TypeOf<(typeof EVENTS)[K]['data']>;

/** `data` of the two events that a charge can fire, from the balance it left. */
export function balanceEventData(
  event: EventKind,
  balanceAfter: number,
): EventData<'credits.low' | 'credits.exhausted'> {
  return event === 'credits.low'
    ? {
        balance: balanceAfter,
        threshold: LOW_CREDITS,
        message: `Only ${balanceAfter} credits are left.`,
      }
    : {
        balance: balanceAfter,
        message: 'No credits are left; calls are refused until credits are added.',
      };
}
