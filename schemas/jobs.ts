import type { FromSchema } from 'json-schema-to-ts';
import { timestamp } from './accountRows.ts';
import { listOf, PAGE } from './lists.ts';
import { defineOperation, type Operation } from './operation.ts';
import { resent } from './webhookRows.ts';

/** Jobs: calls that run in the background, and whose results are fetched later. Their routes and reference derive from this file. */
const TAG = 'Jobs';

export const JOB_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** How long a job can wait for a worker, in hours. */
export const JOB_WAIT_HOURS = 24;
/** How long a job and its result are kept after its end, in hours. */
export const JOB_KEPT_HOURS = 72;
/** Maximum number of jobs of an account that wait or run. */
export const MAX_OPEN_JOBS = 1000;
/** Event of a callback. It is not an event of the account: webhook endpoints do not receive it. */
export const JOB_COMPLETED = 'job.completed';

const optionalTime = { type: ['string', 'null'], format: 'date-time' } as const;

const callback = {
  type: ['object', 'null'],
  description: 'The callback at the end of the job; null if none was requested.',
  properties: {
    url: { type: 'string', description: 'URL that is posted to.' },
    state: {
      type: 'string',
      enum: ['waiting', 'pending', 'delivered', 'failed'],
      description: '`waiting`: the job has not ended. `pending`: the callback is being delivered or retried.',
    },
    attempts: { type: 'integer', description: 'Number of attempts so far.' },
    statusCode: {
      type: ['integer', 'null'],
      description: 'HTTP status of the response to the latest attempt; null if there was none.',
    },
    error: {
      type: ['string', 'null'],
      description: 'Why the latest attempt got no response; null if it got one.',
    },
  },
  required: ['url', 'state', 'attempts', 'statusCode', 'error'],
  additionalProperties: false,
} as const;

export const callbackAttempt = {
  type: 'object',
  properties: {
    attempt: { type: 'integer', description: 'Number of the attempt, from 1.' },
    at: { ...timestamp, description: 'When it ended.' },
    statusCode: {
      type: ['integer', 'null'],
      description: 'HTTP status of the response; null if there was none.',
    },
    error: { type: ['string', 'null'], description: 'Why there was no response; null if there was one.' },
  },
  required: ['attempt', 'at', 'statusCode', 'error'],
  additionalProperties: false,
} as const;
export type CallbackAttemptRow = FromSchema<typeof callbackAttempt>;

/** The fields of a callback and its delivery in a list. */
export const callbackFields = {
  id: { type: 'string', description: 'Id of the callback, the same on every attempt.' },
  createdAt: { ...timestamp, description: 'When it was caused.' },
  url: { type: 'string', description: 'URL that is posted to.' },
  attempts: { type: 'integer', description: 'Number of attempts so far.' },
  statusCode: {
    type: ['integer', 'null'],
    description: 'HTTP status of the response to the latest attempt; null if there was none.',
  },
  error: {
    type: ['string', 'null'],
    description: 'Why the latest attempt got no response; null if it got one.',
  },
  history: { type: 'array', items: callbackAttempt, description: 'The last 20 attempts, oldest first.' },
} as const;

export const metadata = {
  type: 'object',
  maxProperties: 10,
  propertyNames: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,40}$' },
  additionalProperties: { type: 'string', maxLength: 200 },
} as const;

export const job = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the job, and of its call in the list of calls.' },
    tool: { type: 'string', description: 'Tool that the job calls.' },
    state: {
      type: 'string',
      enum: JOB_STATES,
      description: 'State of the job. It has a result from `succeeded`, `failed` and `cancelled` on.',
    },
    createdAt: { ...timestamp, description: 'When the job was accepted.' },
    startedAt: { ...optionalTime, description: 'When the job got a worker; null if it has not got one.' },
    endedAt: { ...optionalTime, description: 'When the job ended; null if it has not ended.' },
    cost: { type: 'integer', description: 'Price of the call in credits.' },
    charged: { type: 'integer', description: 'Credits charged: the cost if the job succeeded, else 0.' },
    code: {
      type: ['string', 'null'],
      description: 'Error code of a job that failed or was cancelled; else null.',
    },
    metadata: {
      ...metadata,
      type: ['object', 'null'],
      description: 'The texts that were sent with the job; null if there were none.',
    },
    resultUrl: { type: 'string', description: 'URL of the result.' },
    callback,
  },
  required: [
    'id',
    'tool',
    'state',
    'createdAt',
    'startedAt',
    'endedAt',
    'cost',
    'charged',
    'code',
    'metadata',
    'resultUrl',
    'callback',
  ],
  additionalProperties: false,
} as const;
export type JobRow = FromSchema<typeof job>;

export const newJobBody = {
  type: 'object',
  properties: {
    tool: {
      type: 'string',
      maxLength: 100,
      description: 'Name of the tool. Tools that take secrets are refused.',
    },
    input: { type: 'object', additionalProperties: true, description: 'Input of the tool.' },
    callbackUrl: {
      type: 'string',
      maxLength: 2048,
      description: 'https URL to which `job.completed` is posted at the end of the job. Default: none.',
    },
    metadata: {
      ...metadata,
      description:
        'Texts of your own that the job, its callback and its result show: up to 10 of 200 characters, with names of letters, digits, `_` and `-`.',
    },
  },
  required: ['tool', 'input'],
  additionalProperties: false,
} as const;
export type NewJobBody = FromSchema<typeof newJobBody>;

export const jobResult = {
  type: 'object',
  properties: {},
  required: [],
  additionalProperties: true,
  description: 'Output of the tool.',
} as const;

export const callbackSecret = {
  type: 'object',
  properties: {
    secret: { type: 'string', description: 'The secret that signs callbacks now.' },
    nextSecret: {
      type: ['string', 'null'],
      description: 'The secret that replaces it; null if no rotation is pending.',
    },
    nextFrom: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When `nextSecret` replaces `secret`; null if no rotation is pending.',
    },
  },
  required: ['secret', 'nextSecret', 'nextFrom'],
  additionalProperties: false,
} as const;
export type CallbackSecretRow = FromSchema<typeof callbackSecret>;

export const callbackRotation = {
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

export const createJob = defineOperation({
  id: 'createJob',
  method: 'post',
  path: '/api/v1/jobs',
  summary: 'Create a job',
  description:
    'Accepts a call and answers at once; the call runs when a worker is free, after all synchronous calls. It is checked, priced and charged like ' +
    'a synchronous call, and the credits are reserved when it starts to run. A tool call with the header `Prefer: respond-async` ' +
    'creates a job too. `Idempotency-Key` and `X-Max-Credits` work as for calls: the same key gives the same job.',
  tag: TAG,
  auth: 'tools',
  body: newJobBody,
  success: { status: 202, schema: job },
  errors: [
    ...['invalid_header', 'insufficient_credits', 'price_above_max', 'key_budget_exceeded'],
    ...['tool_not_allowed', 'account_suspended', 'unknown_tool', 'limit_reached'],
    ...['idempotency_key_mismatch', 'target_refused', 'host_not_found', 'target_failed', 'target_timeout'],
    ...['tool_unavailable', 'not_found'],
  ] as const,
});

export const listJobs = defineOperation({
  id: 'listJobs',
  method: 'get',
  path: '/api/v1/jobs',
  summary: 'List jobs',
  tag: TAG,
  auth: 'tools',
  query: {
    type: 'object',
    properties: {
      state: { type: 'string', enum: JOB_STATES, description: 'Only jobs in this state.' },
      ...PAGE,
    },
    required: [],
    additionalProperties: false,
  },
  success: { status: 200, schema: listOf(job) },
  errors: [],
});

export const getJob = defineOperation({
  id: 'getJob',
  method: 'get',
  path: '/api/v1/jobs/{id}',
  summary: 'Get a job',
  tag: TAG,
  auth: 'tools',
  query: {
    type: 'object',
    properties: {
      wait: {
        type: 'integer',
        minimum: 0,
        maximum: 60,
        default: 0,
        description: 'Seconds to hold the request until the state changes; 0 answers at once.',
      },
    },
    required: [],
    additionalProperties: false,
  },
  success: { status: 200, schema: job },
  errors: ['not_found'],
});

export const getJobResult = defineOperation({
  id: 'getJobResult',
  method: 'get',
  path: '/api/v1/jobs/{id}/result',
  summary: 'Get the result of a job',
  description: `Answers as the synchronous call would have: with the output, its raw file if \`Accept\` ranks its type above JSON, or the error of the call. The result is kept for ${JOB_KEPT_HOURS} hours after the end of the job, and reading it costs nothing.`,
  tag: TAG,
  auth: 'tools',
  success: { status: 200, schema: jobResult },
  errors: ['not_found', 'not_finished', 'cancelled', 'pool_busy'],
});

export const cancelJob = defineOperation({
  id: 'cancelJob',
  method: 'delete',
  path: '/api/v1/jobs/{id}',
  summary: 'Cancel a job',
  description:
    'Cancels a job that waits or runs, like hanging up on a call: nothing is charged, unless the job acts on the outside world and was already sent. Changes nothing if the job has ended.',
  tag: TAG,
  auth: 'tools',
  success: { status: 204 },
  errors: ['not_found'],
});

export const jobCallback = {
  type: 'object',
  properties: {
    ...callbackFields,
    event: { type: 'string', enum: [JOB_COMPLETED], description: 'Name of the reported event.' },
    state: {
      type: 'string',
      enum: ['waiting', 'pending', 'delivered', 'failed'],
      description: '`waiting`: the job has not ended. `pending`: it is being delivered or retried.',
    },
  },
  required: ['id', 'event', 'createdAt', 'url', 'state', 'attempts', 'statusCode', 'error', 'history'],
  additionalProperties: false,
} as const;
export type JobCallbackRow = FromSchema<typeof jobCallback>;

export const listJobCallbacks = defineOperation({
  id: 'listJobCallbacks',
  method: 'get',
  path: '/api/v1/jobs/{id}/callbacks',
  summary: 'List the callbacks of a job',
  description: 'A job has one callback if it was created with `callbackUrl`, else none.',
  tag: TAG,
  auth: 'tools',
  query: { type: 'object', properties: PAGE, required: [], additionalProperties: false },
  success: { status: 200, schema: listOf(jobCallback) },
  errors: ['not_found'],
});

/** How callbacks are sent again, for the descriptions of the operations. */
export const SENT_AGAIN =
  'with the same id and body, at once. A callback that waits for its next attempt keeps its place in the retry schedule, any other begins the schedule ' +
  'again. An account can send 2,000 callbacks and deliveries of webhooks again in 24 hours.';

export const resendJobCallbacks = defineOperation({
  id: 'resendJobCallbacks',
  method: 'post',
  path: '/api/v1/jobs/{id}/callbacks/resend',
  summary: 'Send the callback of a job again',
  description: `Sends the callback of a job that has ended ${SENT_AGAIN}`,
  tag: TAG,
  auth: 'tools',
  success: { status: 200, schema: resent },
  errors: ['not_found'],
});

export const getCallbackSecret = defineOperation({
  id: 'getCallbackSecret',
  method: 'get',
  path: '/api/v1/account/callback-secret',
  summary: 'Get the secret that signs callbacks',
  description: 'Callbacks are signed like webhooks, with one secret of the account.',
  tag: TAG,
  auth: 'account',
  success: { status: 200, schema: callbackSecret },
  errors: [],
});

export const rotateCallbackSecret = defineOperation({
  id: 'rotateCallbackSecret',
  method: 'post',
  path: '/api/v1/account/callback-secret/rotate',
  summary: 'Rotate the secret that signs callbacks',
  description:
    'For 24 hours `X-Service-Signature` still uses the old secret and `webhook-signature` carries signatures of both; then only the new one is used.',
  tag: TAG,
  auth: 'account',
  body: callbackRotation,
  success: { status: 200, schema: callbackSecret },
  errors: ['rotation_pending'],
});

export const JOB_OPERATIONS: readonly Operation[] = [
  createJob,
  listJobs,
  getJob,
  getJobResult,
  cancelJob,
  listJobCallbacks,
  resendJobCallbacks,
  getCallbackSecret,
  rotateCallbackSecret,
];
