import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { creditsOf } from './callErrors.ts';
import type { ObjectSchema } from './tool.ts';

/** Balance below which `credits.low` fires. */
export const LOW_CREDITS = 25;

export const EVENT_KINDS = [
  'credits.low',
  'credits.exhausted',
  'credits.granted',
  'api_key.created',
  'api_key.changed',
  'api_key.rotated',
  'api_key.revoked',
  'webhook.test',
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** Start of the ids of test events, which report no change of the account. */
export const TEST_EVENT = 'evt_test_';

/** Whether an event is a test. The ids of older tests have no prefix, but all of these have the kind `webhook.test`. */
export const isTestEvent = ({ id, event }: { id: string; event: EventKind }): boolean =>
  event === 'webhook.test' || id.startsWith(TEST_EVENT);

/**
 * A kind of event: its description in the API reference, and the JSON Schema of its `data`, from which the type
 * derives.
 */
interface EventDefinition {
  /** Sentence that says when the event fires. */
  summary: string;
  data: ObjectSchema;
  example: Readonly<Record<string, unknown>>;
}

const balance = { type: 'integer', minimum: 0, description: 'Balance of the account in credits.' } as const;
const message = { type: 'string', description: 'Description of the event for people.' } as const;

const apiKey = {
  type: 'object',
  properties: {
    keyId: { type: 'string', description: 'Id of the key.' },
    name: { type: 'string', description: 'Name of the key.' },
    prefix: { type: 'string', description: 'First 9 characters of the key. The key itself is never sent.' },
  },
  required: ['keyId', 'name', 'prefix'],
  additionalProperties: false,
} as const;
const apiKeyExample = {
  keyId: 'key_0b8f6c1e-6f0e-4f7e-9a52-3b1d5c0e8f11',
  name: 'website',
  prefix: 'ut_4kQz7B',
};

/** Definitions of all kinds of events. */
export const EVENTS = {
  'credits.low': {
    summary: `A charge took the balance from ${LOW_CREDITS} or more to below ${LOW_CREDITS}.`,
    data: {
      type: 'object',
      properties: {
        balance,
        threshold: {
          type: 'integer',
          const: LOW_CREDITS,
          description: 'Balance below which the event fires.',
        },
        message,
      },
      required: ['balance', 'threshold', 'message'],
      additionalProperties: false,
    },
    example: { balance: 24, threshold: LOW_CREDITS, message: 'Only 24 credits are left.' },
  },
  'credits.exhausted': {
    summary: 'A charge took the balance to zero. Calls fail with 402 until credits are added.',
    data: {
      type: 'object',
      properties: { balance, message },
      required: ['balance', 'message'],
      additionalProperties: false,
    },
    example: {
      balance: 0,
      message: 'No credits are left. Calls fail until credits are added.',
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
          description: 'Origin of the added credits.',
        },
        reference: {
          type: 'string',
          description:
            'Id of the payment, month of the allowance (`2026-11`), or reference of the adjustment.',
        },
      },
      required: ['balance', 'amount', 'source', 'reference'],
      additionalProperties: false,
    },
    example: { balance: 1250, amount: 1000, source: 'purchase', reference: 'pi_3MtwBwLkdIwHu7ix28a3tqPa' },
  },
  'api_key.created': {
    summary: 'An API key was created, or an app was connected.',
    data: apiKey,
    example: apiKeyExample,
  },
  'api_key.changed': {
    summary: 'The name, tools, expiry or limits of an API key were changed.',
    data: apiKey,
    example: apiKeyExample,
  },
  'api_key.rotated': {
    summary: 'An API key got a new secret.',
    data: apiKey,
    example: apiKeyExample,
  },
  'api_key.revoked': {
    summary: 'An API key, or the connection of an app, was revoked.',
    data: apiKey,
    example: apiKeyExample,
  },
  'webhook.test': {
    summary: 'The owner of the endpoint sent a test event.',
    data: {
      type: 'object',
      properties: {
        message,
        endpointId: { type: 'string', description: 'Id of the tested webhook endpoint.' },
      },
      required: ['message', 'endpointId'],
      additionalProperties: false,
    },
    example: {
      message: 'This is a test. No credits changed.',
      endpointId: 'whe_5d0c2c9e-7f0b-4b5e-8d37-4f2a8e9b6c10',
    },
  },
} as const satisfies Record<EventKind, EventDefinition>;

type TypeOf<S> = S extends JSONSchema ? FromSchema<S> : never;
export type EventData<K extends EventKind> = TypeOf<(typeof EVENTS)[K]['data']>;

/** Kinds of the events that a charge can fire. */
export type BalanceEventKind = 'credits.low' | 'credits.exhausted';

const BALANCE_DATA: { [K in BalanceEventKind]: (balance: number) => EventData<K> } = {
  'credits.low': (balance) => ({
    balance,
    threshold: LOW_CREDITS,
    message: `Only ${creditsOf(balance)} ${balance === 1 ? 'is' : 'are'} left.`,
  }),
  'credits.exhausted': (balance) => ({
    balance,
    message: 'No credits are left. Calls fail until credits are added.',
  }),
};

/** Returns the `data` of an event that a charge fires. `balanceAfter` is the balance after the charge, in credits. */
export const balanceEventData = <K extends BalanceEventKind>(event: K, balanceAfter: number): EventData<K> =>
  BALANCE_DATA[event](balanceAfter);
