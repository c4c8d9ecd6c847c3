import type { FromSchema } from 'json-schema-to-ts';
import { timestamp } from './accountRows.ts';
import { callbackFields, metadata, SENT_AGAIN } from './jobs.ts';
import { listOf, PAGE } from './lists.ts';
import { defineOperation, type Operation } from './operation.ts';
import { resent } from './webhookRows.ts';

/** Batches: many calls that are handed over in one request. Their routes and reference derive from this file. */
const TAG = 'Batches';

export const BATCH_STATES = ['running', 'paused', 'cancelling', 'completed', 'cancelled'] as const;
export type BatchState = (typeof BATCH_STATES)[number];

const ORDERS = ['input', 'completion'] as const;
export type RowOrder = (typeof ORDERS)[number];

/** How long a batch may take, pauses included, in hours. */
export const BATCH_HOURS = 72;
/** How long a batch is kept after its end, and the result of a row after the end of the row, in hours. */
export const BATCH_KEPT_HOURS = 72;
/** Maximum number of rows of a batch. */
export const MAX_ROWS = 50_000;
/** Maximum size of the body that creates a batch, in bytes. */
export const MAX_BATCH_BYTES = 100 * 1024 * 1024;
/** Maximum number of batches of an account that have not ended. */
export const MAX_OPEN_BATCHES = 10;
/** Maximum number of bad rows that the error response names. */
export const MAX_BAD_ROWS = 100;
/** Maximum length of the id that a caller gives a row, in characters. */
export const MAX_ROW_ID = 100;

/** Events of callbacks. They are no events of the account: webhook endpoints do not receive them. */
export type BatchEvent = 'batch.completed' | 'batch.paused';

const optionalTime = { type: ['string', 'null'], format: 'date-time' } as const;

const counts = {
  type: 'object',
  description: 'Numbers of rows. `rows` is the sum of the others.',
  properties: {
    rows: { type: 'integer', description: 'All rows.' },
    open: { type: 'integer', description: 'Rows that wait or run.' },
    charged: { type: 'integer', description: 'Rows that succeeded and were charged.' },
    refused: { type: 'integer', description: 'Rows that failed. They were not charged.' },
    cancelled: { type: 'integer', description: 'Rows that were cancelled. They were not charged.' },
  },
  required: ['rows', 'open', 'charged', 'refused', 'cancelled'],
  additionalProperties: false,
} as const;

const credits = {
  type: 'object',
  properties: {
    charged: { type: 'integer', description: 'Credits that the rows were charged so far.' },
    total: { type: 'integer', description: 'Sum of the prices of all rows.' },
    max: { type: ['integer', 'null'], description: '`maxCredits` of the batch; null if there is none.' },
  },
  required: ['charged', 'total', 'max'],
  additionalProperties: false,
} as const;

const PAUSES = [
  'not_started',
  'requested',
  'max_credits',
  'insufficient_credits',
  'key_budget_exceeded',
  'account_suspended',
  'rate_limited',
] as const;
/**
 * Why a batch is paused: its owner has not started it yet (a batch of the dashboard), at the request of the caller, at `maxCredits`,
 * or because of an error that its next rows would get too.
 */
export type PauseReason = (typeof PAUSES)[number];
export const isPauseReason = (code: string): code is PauseReason => PAUSES.some((reason) => reason === code);

export const batch = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the batch.' },
    state: {
      type: 'string',
      enum: BATCH_STATES,
      description:
        'State of the batch. `cancelling`: running rows finish, the others are cancelled. `completed` and `cancelled` are final.',
    },
    pauseReason: {
      type: ['string', 'null'],
      description: `Why the batch is paused: ${PAUSES.map((reason) => `\`${reason}\``).join(', ')}; else null.`,
    },
    createdAt: { ...timestamp, description: 'When the batch was accepted.' },
    endedAt: { ...optionalTime, description: 'When the batch ended; null if it has not ended.' },
    expiresAt: { ...timestamp, description: 'When the batch is deleted, or cancelled if it has not ended.' },
    counts,
    credits: { ...credits, description: 'Credits of the batch.' },
    rate: {
      type: ['number', 'null'],
      description: 'Rows per second since the batch was started or resumed; null if it does not run.',
    },
    estimatedEndAt: {
      ...optionalTime,
      description: 'When the batch ends at this rate; null if that is not known.',
    },
    order: { type: 'string', enum: ORDERS, description: 'Default order of the results.' },
    onEmptyBalance: {
      type: 'string',
      enum: ['pause', 'stop'],
      description: 'What happens when the account has too few credits for a row.',
    },
    metadata: {
      ...metadata,
      type: ['object', 'null'],
      description: 'The texts that were sent with the batch; null if there were none.',
    },
    resultsUrl: { type: 'string', description: 'URL of the results.' },
    manifestUrl: { type: 'string', description: 'URL of the manifest.' },
  },
  required: [
    'id',
    'state',
    'pauseReason',
    'createdAt',
    'endedAt',
    'expiresAt',
    'counts',
    'credits',
    'rate',
    'estimatedEndAt',
    'order',
    'onEmptyBalance',
    'metadata',
    'resultsUrl',
    'manifestUrl',
  ],
  additionalProperties: false,
} as const;
export type BatchRow = FromSchema<typeof batch>;

const options = {
  maxCredits: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000_000_000_000,
    description: 'Credits above which the batch pauses instead of running further rows. Default: no limit.',
  },
  order: {
    type: 'string',
    enum: ORDERS,
    default: 'input',
    description: 'Default order of the results: that of the rows in the body, or that in which they end.',
  },
  onEmptyBalance: {
    type: 'string',
    enum: ['pause', 'stop'],
    default: 'pause',
    description:
      'What happens when the account has too few credits for a row: the batch pauses until it has enough, or the other rows are cancelled.',
  },
  callbackUrl: {
    type: 'string',
    maxLength: 2048,
    description: 'https URL to which `batch.completed` and `batch.paused` are posted. Default: none.',
  },
} as const;

const tool = {
  type: 'string',
  maxLength: 100,
  description: 'Name of the tool that all rows call. Tools that take secrets are refused.',
} as const;

/** The fields of a JSON body without its rows. */
export const batchOptions = {
  type: 'object',
  properties: {
    tool,
    ...options,
    metadata: {
      ...metadata,
      description:
        'Texts of your own that the batch and its callbacks show: up to 10 of 200 characters, with names of letters, digits, `_` and `-`.',
    },
  },
  required: ['tool'],
  additionalProperties: false,
} as const;
export type BatchOptions = Omit<FromSchema<typeof batchOptions>, 'tool'>;
export type JsonEnvelope = FromSchema<typeof batchOptions>;

/** The options of a body of lines, as query parameters. */
export const batchQuery = {
  type: 'object',
  properties: {
    tool: { ...tool, description: 'For `text/csv`: name of the tool that all rows call.' },
    ...options,
  },
  required: [],
  additionalProperties: false,
} as const;
export type BatchQuery = FromSchema<typeof batchQuery>;

export const newBatchBody = {
  ...batchOptions,
  properties: {
    ...batchOptions.properties,
    inputs: {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      minItems: 1,
      maxItems: MAX_ROWS,
      description: 'Inputs of the tool, one for each row.',
    },
  },
  required: ['tool', 'inputs'],
} as const;

export const CSV_TYPE = 'text/csv';
export const NDJSON_TYPE = 'application/x-ndjson';
export const ZIP_TYPE = 'application/zip';
export const EVENTS_TYPE = 'text/event-stream';

export const createBatch = defineOperation({
  id: 'createBatch',
  method: 'post',
  path: '/api/v1/batches',
  summary: 'Create a batch',
  description:
    `Accepts up to ${MAX_ROWS} calls in one body of at most ${MAX_BATCH_BYTES / 1_048_576} MB: JSON for one tool, NDJSON with lines of ` +
    '`{ custom_id, method, url, body }` or `{ id, tool, input }`, or CSV for one tool. All rows are checked before any of them runs. With NDJSON and ' +
    'CSV the options are query parameters. `Idempotency-Key` works as for jobs, and `X-Max-Credits` bounds the sum of all prices.',
  tag: TAG,
  auth: 'tools',
  query: batchQuery,
  body: newBatchBody,
  bodyAlsoAs: [NDJSON_TYPE, CSV_TYPE],
  success: { status: 202, schema: batch },
  errors: [
    ...['invalid_header', 'insufficient_credits', 'price_above_max', 'key_budget_exceeded'],
    ...['tool_not_allowed', 'account_suspended', 'unknown_tool', 'limit_reached'],
    ...['idempotency_key_mismatch', 'target_refused', 'host_not_found', 'target_failed', 'target_timeout'],
    'tool_unavailable',
  ] as const,
});

export const listBatches = defineOperation({
  id: 'listBatches',
  method: 'get',
  path: '/api/v1/batches',
  summary: 'List batches',
  tag: TAG,
  auth: 'tools',
  query: {
    type: 'object',
    properties: {
      state: { type: 'string', enum: BATCH_STATES, description: 'Only batches in this state.' },
      ...PAGE,
    },
    required: [],
    additionalProperties: false,
  },
  success: { status: 200, schema: listOf(batch) },
  errors: [],
});

export const getBatch = defineOperation({
  id: 'getBatch',
  method: 'get',
  path: '/api/v1/batches/{id}',
  summary: 'Get a batch',
  tag: TAG,
  auth: 'tools',
  success: { status: 200, schema: batch },
  errors: ['not_found'],
});

export const pauseBatch = defineOperation({
  id: 'pauseBatch',
  method: 'post',
  path: '/api/v1/batches/{id}/pause',
  summary: 'Pause a batch',
  description: 'Running rows finish, and no further row starts. Changes nothing unless the batch runs.',
  tag: TAG,
  auth: 'tools',
  success: { status: 200, schema: batch },
  errors: ['not_found'],
});

export const resumeBody = {
  type: 'object',
  properties: {
    maxCredits: {
      ...options.maxCredits,
      type: ['integer', 'null'],
      description: 'The new limit; null removes it. Default: the limit stays as it is.',
    },
  },
  required: [],
  additionalProperties: false,
} as const;
export type ResumeBody = FromSchema<typeof resumeBody>;

export const resumeBatch = defineOperation({
  id: 'resumeBatch',
  method: 'post',
  path: '/api/v1/batches/{id}/resume',
  summary: 'Resume a batch',
  description: 'Continues a batch that is paused, if wanted with another limit of credits.',
  tag: TAG,
  auth: 'tools',
  body: resumeBody,
  success: { status: 200, schema: batch },
  errors: ['not_found'],
});

export const cancelBatch = defineOperation({
  id: 'cancelBatch',
  method: 'delete',
  path: '/api/v1/batches/{id}',
  summary: 'Cancel a batch',
  description:
    'Cancels the waiting rows; running rows finish. Results of rows that have ended are kept. Changes nothing if the batch has ended.',
  tag: TAG,
  auth: 'tools',
  success: { status: 204 },
  errors: ['not_found'],
});

const results = {
  type: 'object',
  properties: {
    order: {
      type: 'string',
      enum: ORDERS,
      description:
        'Order of the rows. `input`: while the batch runs, up to the first row that has not ended. Default: `order` of the batch.',
    },
    after: {
      type: 'integer',
      minimum: 0,
      description:
        'Begin after this row, to continue an interrupted download: its `row` in the order of the input, its `seq` in that of completion.',
    },
  },
  required: [],
  additionalProperties: false,
} as const;
export type ResultsQuery = FromSchema<typeof results>;

export const getBatchResults = defineOperation({
  id: 'getBatchResults',
  method: 'get',
  path: '/api/v1/batches/{id}/results',
  summary: 'Get the results of a batch',
  description:
    'Streams the rows that have ended: as NDJSON with a line of `{ row, id, callId, seq, tool, state, cost, charged, code, endedAt, output, error }` for each, ' +
    `or as CSV if \`Accept\` ranks it higher. The result of a row is kept for ${BATCH_KEPT_HOURS} hours after the row has ended; its \`output\` is null then.`,
  tag: TAG,
  auth: 'tools',
  query: results,
  success: { status: 200, only: [NDJSON_TYPE, CSV_TYPE] },
  errors: ['not_found'],
});

export const getBatchFiles = defineOperation({
  id: 'getBatchFiles',
  method: 'get',
  path: '/api/v1/batches/{id}/files.zip',
  summary: 'Get the files of a batch',
  description:
    'Streams the files of the rows that have ended, named by row. Rows whose results have no file are left out.',
  tag: TAG,
  auth: 'tools',
  success: { status: 200, only: [ZIP_TYPE] },
  errors: ['not_found'],
});

const sums = {
  rows: { type: 'integer', description: 'Number of rows: the sum of the next three.' },
  charged: { type: 'integer', description: 'Rows that were charged.' },
  refused: { type: 'integer', description: 'Rows that failed.' },
  cancelled: { type: 'integer', description: 'Rows that were cancelled.' },
  credits: { type: 'integer', description: 'Credits that the rows were charged.' },
} as const;

export const manifest = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the batch.' },
    state: { type: 'string', enum: ['completed', 'cancelled'], description: 'State of the batch.' },
    createdAt: { ...timestamp, description: 'When the batch was accepted.' },
    endedAt: { ...timestamp, description: 'When the batch ended.' },
    ...sums,
    tools: {
      type: 'array',
      description: 'The same sums for each tool.',
      items: {
        type: 'object',
        properties: { name: { type: 'string', description: 'Name of the tool.' }, ...sums },
        required: ['name', 'rows', 'charged', 'refused', 'cancelled', 'credits'],
        additionalProperties: false,
      },
    },
    input: {
      type: 'object',
      description: 'The body that created the batch.',
      properties: {
        sha256: { type: 'string', description: 'SHA-256 of the body in hexadecimal.' },
        bytes: { type: 'integer', description: 'Size of the body in bytes.' },
      },
      required: ['sha256', 'bytes'],
      additionalProperties: false,
    },
    output: {
      type: 'object',
      description: 'The outputs of the rows that were charged.',
      properties: {
        sha256: {
          type: 'string',
          description:
            'SHA-256 in hexadecimal of a text that has, for each charged row in the order of the input, the number of the row, a space, the SHA-256 of its `output` as in the results, and a line feed.',
        },
        missing: {
          type: 'integer',
          description:
            'Number of charged rows that are not in that text, because their outputs have expired.',
        },
      },
      required: ['sha256', 'missing'],
      additionalProperties: false,
    },
  },
  required: [
    'id',
    'state',
    'createdAt',
    'endedAt',
    'rows',
    'charged',
    'refused',
    'cancelled',
    'credits',
    'tools',
    'input',
    'output',
  ],
  additionalProperties: false,
} as const;
export type BatchManifest = FromSchema<typeof manifest>;

export const getManifest = defineOperation({
  id: 'getBatchManifest',
  method: 'get',
  path: '/api/v1/batches/{id}/manifest',
  summary: 'Get the manifest of a batch',
  description:
    'Sums and digests of a batch that has ended. `rows` is always `charged + refused + cancelled`.',
  tag: TAG,
  auth: 'tools',
  success: { status: 200, schema: manifest },
  errors: ['not_found', 'not_finished'],
});

export const getBatchEvents = defineOperation({
  id: 'getBatchEvents',
  method: 'get',
  path: '/api/v1/batches/{id}/events',
  summary: 'Follow a batch',
  description:
    'Server-sent events: `progress` with the batch as JSON at each change, and `end` with the ended batch, after which the stream ends. Each event has the whole ' +
    'state, so that a client that reconnects with `Last-Event-ID` misses nothing. The response is 204 if it has seen the end.',
  tag: TAG,
  auth: 'tools',
  success: { status: 200, only: [EVENTS_TYPE] },
  errors: ['not_found'],
});

export const batchCallback = {
  type: 'object',
  properties: {
    ...callbackFields,
    event: {
      type: 'string',
      enum: ['batch.completed', 'batch.paused'],
      description: 'Name of the reported event.',
    },
    state: {
      type: 'string',
      enum: ['pending', 'delivered', 'failed'],
      description: '`pending`: it is being delivered or retried.',
    },
  },
  required: ['id', 'event', 'createdAt', 'url', 'state', 'attempts', 'statusCode', 'error', 'history'],
  additionalProperties: false,
} as const;
export type BatchCallbackRow = FromSchema<typeof batchCallback>;

export const listBatchCallbacks = defineOperation({
  id: 'listBatchCallbacks',
  method: 'get',
  path: '/api/v1/batches/{id}/callbacks',
  summary: 'List the callbacks of a batch',
  tag: TAG,
  auth: 'tools',
  query: { type: 'object', properties: PAGE, required: [], additionalProperties: false },
  success: { status: 200, schema: listOf(batchCallback) },
  errors: ['not_found'],
});

/** Maximum number of callbacks that one request sends again. */
export const MAX_RESENT = 100;

export const batchResend = {
  type: 'object',
  properties: {
    callbackIds: {
      type: 'array',
      items: { type: 'string', maxLength: 64 },
      minItems: 1,
      maxItems: MAX_RESENT,
      uniqueItems: true,
      description:
        'Ids of the callbacks to send again, which may also be delivered ones or wait for their next attempt. Default: the newest failed ones.',
    },
  },
  required: [],
  additionalProperties: false,
} as const;

export const resendBatchCallbacks = defineOperation({
  id: 'resendBatchCallbacks',
  method: 'post',
  path: '/api/v1/batches/{id}/callbacks/resend',
  summary: 'Send callbacks of a batch again',
  description: `Sends up to ${MAX_RESENT} callbacks of a batch ${SENT_AGAIN}`,
  tag: TAG,
  auth: 'tools',
  body: batchResend,
  success: { status: 200, schema: resent },
  errors: ['not_found'],
});

export const BATCH_OPERATIONS: readonly Operation[] = [
  createBatch,
  listBatches,
  getBatch,
  getBatchResults,
  getBatchFiles,
  getManifest,
  getBatchEvents,
  listBatchCallbacks,
  resendBatchCallbacks,
  pauseBatch,
  resumeBatch,
  cancelBatch,
];
