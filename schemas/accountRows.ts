import type { FromSchema } from 'json-schema-to-ts';
import { EVENT_KINDS } from './events.ts';

/** This file contains the request and response schemas of the Account API, and their types. */
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
    email: { type: 'string', description: 'Email address of the owner.' },
    balance: { type: 'integer', description: 'Credits granted minus credits charged.' },
    reserved: { type: 'integer', description: 'Credits reserved for running calls.' },
    available: { type: 'integer', description: 'Credits that a new call can spend: balance minus reserved.' },
    lowThreshold: { type: 'integer', description: 'Balance below which `credits.low` fires.' },
    monthlyAllowance: { type: 'integer', description: 'Credits granted each month.' },
  },
  required: ['id', 'email', 'balance', 'reserved', 'available', 'lowThreshold', 'monthlyAllowance'],
  additionalProperties: false,
} as const;

/** The account with what its jobs and files take up. */
export const accountDetails = {
  ...account,
  properties: {
    ...account.properties,
    jobs: {
      type: 'object',
      description:
        'Jobs that have not ended, and what jobs have stored in the last 72 hours, with the limits of both.',
      properties: {
        open: { type: 'integer', description: 'Jobs that wait or run.' },
        maxOpen: { type: 'integer', description: 'Maximum number of jobs that wait or run.' },
        storedBytes: {
          type: 'integer',
          description: 'Bytes of inputs and results of jobs; 0 if the installation has no limits.',
        },
        maxStoredBytes: {
          type: ['integer', 'null'],
          description:
            'Number of bytes from which on new jobs are refused; null if the installation has no limits.',
        },
      },
      required: ['open', 'maxOpen', 'storedBytes', 'maxStoredBytes'],
      additionalProperties: false,
    },
    files: {
      type: 'object',
      description: 'Uploaded files that are stored now, with the limit.',
      properties: {
        count: { type: 'integer', description: 'Number of files.' },
        storedBytes: { type: 'integer', description: 'Bytes of files.' },
        maxStoredBytes: {
          type: ['integer', 'null'],
          description: 'Maximum number of bytes of files; null if the installation has no limits.',
        },
      },
      required: ['count', 'storedBytes', 'maxStoredBytes'],
      additionalProperties: false,
    },
  },
  required: [...account.required, 'jobs', 'files'],
} as const;
export type JobUsage = FromSchema<typeof accountDetails>['jobs'];
export type FileUsage = FromSchema<typeof accountDetails>['files'];

const phase = (description: string) => ({ type: ['integer', 'null'], description }) as const;

/** The phases of a call, in their order. */
const callPhases = {
  type: ['object', 'null'],
  description:
    'Milliseconds of each phase of the call, in order; null while the call runs, and if it returned the result of an earlier one. A phase is null if it was not reached or not measured.',
  properties: {
    accept: phase('Authentication, rate limit and validation of the request.'),
    queue: phase('Waiting for a slot of the API process.'),
    reserve: phase('From acceptance until the price was reserved.'),
    wait: phase('Waiting for a worker; includes earlier attempts of the tool.'),
    run: phase('The tool.'),
    settle: phase('From the end of the tool to the charge or refund.'),
    respond: phase(
      'From settlement until the response was sent. Not measured for calls with an idempotency key.',
    ),
  },
  required: ['accept', 'queue', 'reserve', 'wait', 'run', 'settle', 'respond'],
  additionalProperties: false,
} as const;

export const call = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the call.' },
    tool: { type: 'string', description: 'Tool that was called.' },
    cost: {
      type: 'integer',
      description: 'Price of the call in credits; 0 if it returned the result of an earlier one.',
    },
    charged: { type: 'integer', description: 'Credits charged: the cost, or 0.' },
    state: {
      type: 'string',
      enum: ['running', 'charged', 'refunded', 'refused'],
      description:
        'State of the call. `charged`: it returned a result. `refused`: it ended before credits were reserved.',
    },
    code: {
      ...optionalText,
      description: 'Error code of a failed call; null if the call has a result or is still running.',
    },
    startedAt: { ...timestamp, description: 'When the call was accepted.' },
    durationMs: {
      type: ['integer', 'null'],
      description: 'Milliseconds from acceptance to settlement; null while the call runs.',
    },
    keyPrefix: {
      ...optionalText,
      description: 'First 9 characters of the API key; null for calls from the dashboard.',
    },
    phases: callPhases,
    resultFrom: {
      ...optionalText,
      description:
        'Id of the earlier call whose result was returned, because of `maxAge`; null if the tool ran for this call.',
    },
  },
  required: [
    'id',
    'tool',
    'cost',
    'charged',
    'state',
    'code',
    'startedAt',
    'durationMs',
    'keyPrefix',
    'phases',
    'resultFrom',
  ],
  additionalProperties: false,
} as const;

/** Requests of an hour that were refused before they became a call. */
export const refusal = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the row.' },
    code: {
      ...optionalText,
      description:
        'Error code of the requests; null if the row counts requests with various codes, because there were very many.',
    },
    tool: {
      ...optionalText,
      description: 'Tool of the requests; null if they were refused before it was known.',
    },
    keyPrefix: { ...optionalText, description: 'First 9 characters of the API key.' },
    count: { type: 'integer', description: 'Number of requests.' },
    firstAt: { ...timestamp, description: 'Time of the first request.' },
    lastAt: { ...timestamp, description: 'Time of the latest request.' },
    faults: {
      type: 'array',
      description: 'The first invalid fields of the latest request, without their values.',
      items: {
        type: 'object',
        properties: {
          pointer: { type: 'string', description: 'JSON Pointer to the field.' },
          message: { type: 'string', description: 'What is wrong with it.' },
        },
        required: ['pointer', 'message'],
        additionalProperties: false,
      },
    },
    requestIds: {
      type: 'array',
      description: 'Ids of the latest requests, at most 10, oldest first.',
      items: { type: 'string' },
    },
  },
  required: ['id', 'code', 'tool', 'keyPrefix', 'count', 'firstAt', 'lastAt', 'faults', 'requestIds'],
  additionalProperties: false,
} as const;

/** A ledger entry. The columns of the CSV statement are these fields, in this order. */
export const ledgerEntry = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the entry.' },
    at: { ...timestamp, description: 'When the balance changed.' },
    type: {
      type: 'string',
      enum: ['charge', 'signup', 'purchase', 'allowance', 'adjustment', 'recovery'],
      description:
        'Type of the entry. `recovery`: added credits that were deducted again to cover credits that could not be deducted earlier.',
    },
    amount: {
      type: 'integer',
      description: 'Credits added to the balance; negative if credits were deducted.',
    },
    balanceAfter: { type: 'integer', description: 'Balance after the entry.' },
    callId: { ...optionalText, description: 'Id of the charged call; null if the entry is not a charge.' },
    tool: { ...optionalText, description: 'Tool of the charged call; null if the entry is not a charge.' },
    source: {
      ...optionalText,
      description:
        'Origin of the change: `signup`, `purchase`, `allowance` or `adjustment`; null for a charge.',
    },
    reference: {
      ...optionalText,
      description:
        'Id of the payment, month of the allowance (`2026-11`), or reference of the adjustment; null if there is none.',
    },
  },
  required: ['id', 'at', 'type', 'amount', 'balanceAfter', 'callId', 'tool', 'source', 'reference'],
  additionalProperties: false,
} as const;

/** Largest budget and price that the schemas accept. */
const MAX_BUDGET = 1_000_000_000;
const budget = { type: ['integer', 'null'], minimum: 1, maximum: MAX_BUDGET } as const;

/** Limits of a key, which its owner can set at creation and change later. */
const keyLimits = {
  dailyBudget: {
    ...budget,
    description:
      'Credits that calls with the key may spend per day (UTC), at least 1; null: not limited. Only for keys with the scope `tools`.',
  },
  monthlyBudget: {
    ...budget,
    description:
      'Credits that calls with the key may spend per calendar month (UTC), at least 1; null: not limited. Only for keys with the scope `tools`.',
  },
  rateLimit: {
    type: ['integer', 'null'],
    minimum: 1,
    maximum: 10_000,
    description:
      'Requests per second that the key may send; null: as many as the account. The limit of the account applies as well.',
  },
  allowedNetworks: {
    type: ['array', 'null'],
    items: { type: 'string', minLength: 1, maxLength: 50 },
    minItems: 1,
    maxItems: 50,
    uniqueItems: true,
    description:
      'IP addresses and CIDR blocks from which the key may be used, such as `203.0.113.7`, `198.51.100.0/24` or `2001:db8::/32`; null: all. A client that connects over IPv4 needs an IPv4 block.',
  },
} as const;

const keyFields = {
  id: { type: 'string', description: 'Id of the key.' },
  name: { type: 'string', description: 'Name of the key.' },
  prefix: { type: 'string', description: 'First 9 characters of the key, by which you can tell keys apart.' },
  scopes: {
    ...scopes,
    description: 'Scope of the key: `tools` permits calling tools, `account` permits managing the account.',
  },
  tools: {
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'Names of the tools that the key may call; null: all tools.',
  },
  createdAt: { ...timestamp, description: 'When the key was created.' },
  lastUsedAt: {
    ...optionalTimestamp,
    description: 'When the key was last used, accurate to some seconds; null if it was never used.',
  },
  lastUsedFrom: {
    ...optionalText,
    description: 'IP address of the client that last used the key; null if it was never used.',
  },
  expiresAt: { ...optionalTimestamp, description: 'When the key expires; null if it never expires.' },
  ...keyLimits,
  spentToday: {
    type: 'integer',
    description: 'Credits charged or reserved for calls with the key today (UTC).',
  },
  spentThisMonth: {
    type: 'integer',
    description: 'Credits charged or reserved for calls with the key in this month (UTC).',
  },
  previousSecret: {
    type: ['object', 'null'],
    description:
      'The secret that the last rotation replaced, while it is still valid; null if there is none. `prefix`: its first 9 characters.',
    properties: { prefix: { type: 'string' }, expiresAt: timestamp },
    required: ['prefix', 'expiresAt'],
    additionalProperties: false,
  },
  revokedAt: { ...optionalTimestamp, description: 'When the key was revoked; null if it was not revoked.' },
} as const;

const keyRequired = [
  'id',
  'name',
  'prefix',
  'scopes',
  'tools',
  'createdAt',
  'lastUsedAt',
  'lastUsedFrom',
  'expiresAt',
  'dailyBudget',
  'monthlyBudget',
  'rateLimit',
  'allowedNetworks',
  'spentToday',
  'spentThisMonth',
  'previousSecret',
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
    key: { type: 'string', description: 'The API key. It is shown only once.' },
  },
  required: [...keyRequired, 'key'],
  additionalProperties: false,
} as const;

const keyName = {
  type: 'string',
  minLength: 1,
  maxLength: 100,
  // Requires a visible character and forbids control characters. The control characters are written as ranges, because
  // not every client supports `\p{Cc}`.
  pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f]*$',
  description: 'Name of the key: up to 100 characters, not only spaces, no control characters.',
} as const;
const keyTools = {
  type: ['array', 'null'],
  items: { type: 'string' },
  minItems: 1,
  maxItems: 100,
  uniqueItems: true,
  description:
    'Names of the tools that the key may call; null: all tools. Allowed only with the scope `tools`.',
} as const;
const keyExpiry = {
  ...optionalTimestamp,
  description: 'Time in the future at which the key expires; null if it never expires.',
} as const;

export const newKeyBody = {
  type: 'object',
  properties: {
    name: keyName,
    scopes: {
      ...scopes,
      description:
        'Exactly one scope: `tools` permits calling tools, `account` permits managing the account.',
    },
    tools: { ...keyTools, default: null },
    expiresAt: { ...keyExpiry, default: null },
    dailyBudget: { ...keyLimits.dailyBudget, default: null },
    monthlyBudget: { ...keyLimits.monthlyBudget, default: null },
    rateLimit: { ...keyLimits.rateLimit, default: null },
    allowedNetworks: { ...keyLimits.allowedNetworks, default: null },
  },
  required: ['name', 'scopes'],
  additionalProperties: false,
} as const;

export const keyChangeBody = {
  type: 'object',
  properties: { name: keyName, tools: keyTools, expiresAt: keyExpiry, ...keyLimits },
  required: [],
  minProperties: 1,
  additionalProperties: false,
} as const;

export const keyRotationBody = {
  type: 'object',
  properties: {
    overlapHours: {
      type: 'integer',
      minimum: 0,
      maximum: 168,
      default: 24,
      description:
        'Hours for which the old secret stays valid beside the new one, at most until the key expires; 0: it ends now.',
    },
    force: {
      type: 'boolean',
      default: false,
      description:
        'Whether to replace the new secret of an earlier rotation while its old secret is still valid. The replaced secret ends now; `overlapHours` applies to the old one.',
    },
  },
  required: [],
  additionalProperties: false,
} as const;

export const delivery = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the delivery.' },
    endpointId: { type: 'string', description: 'Id of the webhook endpoint.' },
    state: {
      type: 'string',
      enum: ['pending', 'delivered', 'failed', 'held'],
      description:
        'State of the delivery. `held`: nothing is posted, because the endpoint is disabled or its URL is on `localhost`, to which this installation does not post.',
    },
    attempts: { type: 'integer', description: 'Number of attempts so far.' },
    nextAt: { ...optionalTimestamp, description: 'When the next attempt is due; null if none is scheduled.' },
  },
  required: ['id', 'endpointId', 'state', 'attempts', 'nextAt'],
  additionalProperties: false,
} as const;

export const event = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the event, which is the same in every delivery attempt.' },
    event: { type: 'string', enum: EVENT_KINDS, description: 'Kind of event.' },
    createdAt: { ...timestamp, description: 'When the event occurred.' },
    data: {
      type: 'object',
      additionalProperties: true,
      description: 'Data of the event; its fields depend on the kind of event.',
    },
    test: {
      type: 'boolean',
      description:
        'Whether the owner of an endpoint sent this event as a test. Nothing has changed in the account.',
    },
    deliveries: { type: 'array', items: delivery, description: 'One delivery per subscribed endpoint.' },
  },
  required: ['id', 'event', 'createdAt', 'data', 'test', 'deliveries'],
  additionalProperties: false,
} as const;

export type AccountRow = FromSchema<typeof account>;
export type CallRow = FromSchema<typeof call>;
export type RefusalRow = FromSchema<typeof refusal>;
export type CallPhases = NonNullable<CallRow['phases']>;
export type EntryRow = FromSchema<typeof ledgerEntry>;
export type KeyRow = FromSchema<typeof key>;
export type NewKeyBody = FromSchema<typeof newKeyBody>;
export type KeyChangeBody = FromSchema<typeof keyChangeBody>;
export type KeyRotationBody = FromSchema<typeof keyRotationBody>;
export type DeliveryRow = FromSchema<typeof delivery>;
export type EventRow = FromSchema<typeof event>;
