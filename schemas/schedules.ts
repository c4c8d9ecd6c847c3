import type { FromSchema } from 'json-schema-to-ts';
import { timestamp } from './accountRows.ts';
import { batchCallback, batchOptions, batchResend, MAX_RESENT } from './batches.ts';
import { JOB_KEPT_HOURS, metadata, SENT_AGAIN } from './jobs.ts';
import { listOf, PAGE } from './lists.ts';
import { defineOperation, type Operation } from './operation.ts';
import { resent } from './webhookRows.ts';

/** Schedules: jobs and batches that repeat. Their routes and reference derive from this file. */
const TAG = 'Schedules';

export const OVERLAPS = ['skip', 'queue', 'cancel'] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** Whether results are compared, and of which runs `schedule.changed` is posted. */
export const ON_CHANGE = ['off', 'changed', 'always'] as const;
export type OnChange = (typeof ON_CHANGE)[number];

const RUN_STATES = ['waiting', 'running', 'succeeded', 'failed', 'cancelled', 'skipped'] as const;
export type RunState = (typeof RUN_STATES)[number];

const RUN_ORIGINS = ['clock', 'trigger', 'backfill'] as const;
export type RunOrigin = (typeof RUN_ORIGINS)[number];

/** Why a schedule is paused. */
const SCHEDULE_PAUSES = ['requested', 'account_suspended', 'key_revoked'] as const;
export type SchedulePause = (typeof SCHEDULE_PAUSES)[number];

/** Maximum number of schedules of an account. */
export const MAX_SCHEDULES = 50;
/** Maximum number of rows of the batch of a schedule. */
const MAX_SCHEDULED_ROWS = 1000;
/** Maximum size of the input of a job, in bytes of JSON. */
export const MAX_JOB_BYTES = 64 * 1024;
/** Maximum size of a body that creates or changes a schedule, in bytes. */
export const MAX_SCHEDULE_BYTES = 1024 * 1024;
/** Maximum number of runs that wait for an earlier one with the overlap policy `queue`. */
export const MAX_WAITING_RUNS = 100;
/** Maximum number of runs that an account triggers in 24 hours: each is listed for `RUN_KEPT_DAYS`, also one that is skipped. */
export const MAX_TRIGGERS = 5000;
/** Schedules that an account can create and changes that it can make in 24 hours. Each leaves events in histories of Temporal. */
export const MAX_SCHEDULE_CHANGES = 1000;
/** Maximum number of runs that one request backfills, and of those that wait. */
export const MAX_BACKFILL = 1000;
/** Maximum length of the period of a backfill, and how far it may lie in the past, in days. */
export const BACKFILL_DAYS = { length: 31, past: 35 } as const;
/** How long a run is listed, in days. Longer than its time can be backfilled, so that no time runs twice. */
export const RUN_KEPT_DAYS = 40;
/** Maximum number of differences that a run and its callback describe, and their length in characters. */
export const MAX_CHANGES = { lines: 20, characters: 200 } as const;
/** Size of the results of a batch, in bytes of JSON, from which further rows are compared only by whether they succeeded. */
export const MAX_COMPARED_BYTES = 64 * 1024 * 1024;
/** How pictures are compared, and for how long they are kept. Others are compared by their bytes. */
export const PICTURES = {
  /** Largest picture in bytes. */
  bytes: 20 * 1024 * 1024,
  /** Largest picture in pixels. */
  pixels: 40_000_000,
  /** Difference of a colour value, of 255, up to which pixels count as equal. */
  tolerance: 16,
  /** Pictures differ if more than one of so many pixels does. */
  oneIn: 100_000,
  /** Largest picture of a difference, in pixels. */
  shownPixels: 2_000_000,
  /** How long the picture of a difference has an address, in hours: as long as the result. */
  linkedHours: JOB_KEPT_HOURS,
} as const;
/** Event of a callback. It is not an event of the account: webhook endpoints do not receive it. */
export const SCHEDULE_CHANGED = 'schedule.changed';

const optionalTime = { type: ['string', 'null'], format: 'date-time' } as const;
const optionalText = { type: ['string', 'null'] } as const;

const jobTarget = {
  type: 'object',
  description: 'The job that each run creates. A schedule has a job or a batch.',
  properties: {
    tool: {
      type: 'string',
      maxLength: 100,
      description: 'Name of the tool. Tools that take secrets are refused.',
    },
    input: {
      type: 'object',
      additionalProperties: true,
      description: `Input of the tool: at most ${MAX_JOB_BYTES / 1024} KB.`,
    },
    metadata: { ...metadata, description: 'Texts of your own that the jobs show, as for a job.' },
  },
  required: ['tool', 'input'],
  additionalProperties: false,
} as const;

const { maxCredits, order, onEmptyBalance } = batchOptions.properties;

const batchTarget = {
  type: 'object',
  description: 'The batch that each run creates.',
  properties: {
    tool: batchOptions.properties.tool,
    inputs: {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      minItems: 1,
      maxItems: MAX_SCHEDULED_ROWS,
      description: 'Inputs of the tool, one for each row.',
    },
    maxCredits,
    order,
    onEmptyBalance,
    metadata: { ...metadata, description: 'Texts of your own that the batches show, as for a batch.' },
  },
  required: ['tool', 'inputs'],
  additionalProperties: false,
} as const;

const fields = {
  name: { type: 'string', minLength: 1, maxLength: 100, description: 'Name for people.' },
  cron: {
    type: 'string',
    maxLength: 200,
    description:
      'Times as a cron expression of five fields: minute, hour, day of the month, month and day of the week (0 or 7 is Sunday), with lists, ranges, ' +
      'steps and English names of three letters. A day matches one of the two fields of days if neither begins with `*`, else both.',
  },
  timeZone: {
    type: 'string',
    maxLength: 64,
    description:
      'Time zone of the expression: its name in the IANA database, such as `Europe/Berlin`. When clocks go forward, times that ' +
      'do not exist on that day are left out; when they go back, times that exist twice run twice.',
  },
  overlap: {
    type: 'string',
    enum: OVERLAPS,
    description:
      'What happens when a run is due while an earlier one has not ended: `skip` skips the new one, `queue` lets it wait, `cancel` ' +
      'cancels the earlier one.',
  },
  onChange: {
    type: 'string',
    enum: ON_CHANGE,
    description:
      'Whether the result of a run is compared with that of the last run that succeeded. `off`: it is not; callbacks report the end of the job or batch. ' +
      '`changed`: `schedule.changed` is posted when the results differ. `always`: it is posted at the end of every run.',
  },
  callbackUrl: {
    type: 'string',
    maxLength: 2048,
    description: 'https URL to which callbacks are posted.',
  },
  paused: { type: 'boolean', description: 'Whether the schedule is paused: its times pass without a run.' },
} as const;

export const newScheduleBody = {
  type: 'object',
  properties: {
    name: fields.name,
    cron: fields.cron,
    timeZone: { ...fields.timeZone, default: 'UTC' },
    job: jobTarget,
    batch: batchTarget,
    overlap: { ...fields.overlap, default: 'skip' },
    onChange: { ...fields.onChange, default: 'off' },
    callbackUrl: { ...fields.callbackUrl, description: `${fields.callbackUrl.description} Default: none.` },
    paused: { ...fields.paused, default: false },
  },
  required: ['name', 'cron'],
  additionalProperties: false,
} as const;
export type NewScheduleBody = FromSchema<typeof newScheduleBody>;

export const scheduleChangeBody = {
  type: 'object',
  properties: {
    ...fields,
    job: jobTarget,
    batch: batchTarget,
    callbackUrl: {
      ...fields.callbackUrl,
      type: ['string', 'null'],
      description: `${fields.callbackUrl.description} Null: none.`,
    },
  },
  required: [],
  minProperties: 1,
  additionalProperties: false,
} as const;
export type ScheduleChangeBody = FromSchema<typeof scheduleChangeBody>;

/** The job or the batch of a schedule, with validated inputs. */
export type ScheduleTarget =
  | { job: FromSchema<typeof jobTarget> }
  | { batch: FromSchema<typeof batchTarget> };

export const schedule = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the schedule.' },
    ...fields,
    tools: { type: 'array', items: { type: 'string' }, description: 'Tools that a run calls.' },
    job: {
      ...jobTarget,
      type: ['object', 'null'],
      description: 'The job that each run creates; null if it is a batch.',
    },
    batch: {
      ...batchTarget,
      type: ['object', 'null'],
      properties: {
        tool: batchTarget.properties.tool,
        rows: { type: 'integer', description: 'Number of rows.' },
        maxCredits: {
          type: ['integer', 'null'],
          description: 'Credits above which a batch pauses; null: no limit.',
        },
        order: { type: 'string', enum: order.enum, description: 'Default order of the results.' },
        onEmptyBalance: {
          type: 'string',
          enum: onEmptyBalance.enum,
          description: 'What happens when the account has too few credits for a row.',
        },
        metadata: { ...metadata, type: ['object', 'null'], description: 'Texts that the batches show.' },
      },
      required: ['tool', 'rows', 'maxCredits', 'order', 'onEmptyBalance', 'metadata'],
      description: 'The batch that each run creates, without its inputs; null if it is a job.',
    },
    callbackUrl: { ...optionalText, description: 'URL to which callbacks are posted; null: none.' },
    pauseReason: {
      ...optionalText,
      enum: [...SCHEDULE_PAUSES, null],
      description:
        'Why the schedule is paused: `requested`; `account_suspended`; or `key_revoked`, because the API key that created it, or last ' +
        'changed it, was revoked, has expired or may not call the tools any more. Null if it is not.',
    },
    cost: { type: 'integer', description: 'Price of a run in credits, if all of its calls succeed.' },
    createdAt: { ...timestamp, description: 'When the schedule was created.' },
    nextAt: {
      ...optionalTime,
      description:
        'When the next run is due; null if the schedule is paused, or that is not known at the moment.',
    },
  },
  required: [
    'id',
    'name',
    'cron',
    'timeZone',
    'tools',
    'job',
    'batch',
    'overlap',
    'onChange',
    'callbackUrl',
    'paused',
    'pauseReason',
    'cost',
    'createdAt',
    'nextAt',
  ],
  additionalProperties: false,
} as const;
export type ScheduleRow = FromSchema<typeof schedule>;

const picture = {
  type: ['object', 'null'],
  description:
    'How the picture of the result differs from the last one; null if it does not, or the files were compared by their bytes.',
  properties: {
    changedPixels: {
      type: 'integer',
      description: `Number of pixels with a colour value that differs by more than ${PICTURES.tolerance} of 255, and of those that only one of the pictures has.`,
    },
    pixels: { type: 'integer', description: 'Number of pixels that were compared.' },
    url: {
      ...optionalText,
      description: `Address of a PNG that shows the new picture in pale grey and what differs in red. It needs no key, and ends after ${PICTURES.linkedHours} hours. Null if the account has no storage left.`,
    },
  },
  required: ['changedPixels', 'pixels', 'url'],
  additionalProperties: false,
} as const;

const difference = {
  type: ['object', 'null'],
  description:
    'How the result differs from that of the last run that succeeded; null if it does not, or was not compared.',
  properties: {
    added: { type: 'integer', description: 'Number of lines that are new.' },
    removed: { type: 'integer', description: 'Number of lines that are gone.' },
    lines: {
      type: 'array',
      description: `The first ${MAX_CHANGES.lines} of these lines, cut at ${MAX_CHANGES.characters} characters. A line is a line of text, or a field of the result and its value.`,
      items: {
        type: 'object',
        properties: {
          change: {
            type: 'string',
            enum: ['added', 'removed'],
            description: 'Whether the line is new or gone.',
          },
          text: { type: 'string', description: 'The line.' },
        },
        required: ['change', 'text'],
        additionalProperties: false,
      },
    },
    picture,
  },
  required: ['added', 'removed', 'lines', 'picture'],
  additionalProperties: false,
} as const;
export type Difference = NonNullable<FromSchema<typeof difference>>;
export type PictureDifference = NonNullable<Difference['picture']>;

export const scheduleRun = {
  type: 'object',
  properties: {
    id: { type: 'string', description: 'Id of the run.' },
    scheduleId: { type: 'string', description: 'Id of the schedule.' },
    dueAt: {
      ...timestamp,
      description:
        'The time of the schedule for which it is the run; of a triggered run, when it was triggered.',
    },
    origin: {
      type: 'string',
      enum: RUN_ORIGINS,
      description: 'What caused the run: a time of the schedule, a request, or a backfill.',
    },
    state: {
      type: 'string',
      enum: RUN_STATES,
      description:
        'State of the run: `waiting` for an earlier run; `skipped`: it did not start, and `code` says why.',
    },
    code: {
      ...optionalText,
      description:
        'Error code of a run that failed, or was cancelled; `overlap` or `limit_reached` of a run that was skipped; else null.',
    },
    jobId: { ...optionalText, description: 'Id of the job of the run; null if there is none.' },
    batchId: { ...optionalText, description: 'Id of the batch of the run; null if there is none.' },
    startedAt: { ...optionalTime, description: 'When the job or batch was created; null if there is none.' },
    endedAt: { ...optionalTime, description: 'When the run ended; null if it has not.' },
    charged: { type: 'integer', description: 'Credits that the run was charged.' },
    changed: {
      type: ['boolean', 'null'],
      description:
        'Whether its result differs from that of the last run that succeeded; null if it was not compared.',
    },
    difference,
  },
  required: [
    'id',
    'scheduleId',
    'dueAt',
    'origin',
    'state',
    'code',
    'jobId',
    'batchId',
    'startedAt',
    'endedAt',
    'charged',
    'changed',
    'difference',
  ],
  additionalProperties: false,
} as const;
export type ScheduleRunRow = FromSchema<typeof scheduleRun>;

const TARGET_ERRORS = [
  ...(['invalid_header', 'tool_not_allowed', 'account_suspended', 'unknown_tool', 'limit_reached'] as const),
  ...(['target_refused', 'host_not_found', 'target_failed', 'target_timeout'] as const),
] as const;

export const createSchedule = defineOperation({
  id: 'createSchedule',
  method: 'post',
  path: '/api/v1/schedules',
  summary: 'Create a schedule',
  description:
    'Creates a job or a batch again and again, at the times of a cron expression. Inputs are checked now. Each run costs what its calls cost. ' +
    '`Idempotency-Key` works: the same key gives the same schedule, as long as it exists.',
  tag: TAG,
  auth: 'tools',
  body: newScheduleBody,
  success: { status: 201, schema: schedule },
  errors: [...TARGET_ERRORS, 'idempotency_key_mismatch'],
});

export const listSchedules = defineOperation({
  id: 'listSchedules',
  method: 'get',
  path: '/api/v1/schedules',
  summary: 'List schedules',
  tag: TAG,
  auth: 'tools',
  query: { type: 'object', properties: PAGE, required: [], additionalProperties: false },
  success: { status: 200, schema: listOf(schedule) },
  errors: [],
});

export const getSchedule = defineOperation({
  id: 'getSchedule',
  method: 'get',
  path: '/api/v1/schedules/{id}',
  summary: 'Get a schedule',
  tag: TAG,
  auth: 'tools',
  success: { status: 200, schema: schedule },
  errors: ['not_found'],
});

export const changeSchedule = defineOperation({
  id: 'changeSchedule',
  method: 'patch',
  path: '/api/v1/schedules/{id}',
  summary: 'Change a schedule',
  description:
    'Changes the fields that are sent; `job` replaces a batch and the other way round. Runs that have started stay as they are. ' +
    'From then on the schedule runs with the API key of this request, unless it only pauses the schedule.',
  tag: TAG,
  auth: 'tools',
  body: scheduleChangeBody,
  success: { status: 200, schema: schedule },
  errors: [...TARGET_ERRORS, 'not_found'],
});

export const deleteSchedule = defineOperation({
  id: 'deleteSchedule',
  method: 'delete',
  path: '/api/v1/schedules/{id}',
  summary: 'Delete a schedule',
  description:
    'Deletes a schedule and the list of its runs. Jobs and batches that have been created continue.',
  tag: TAG,
  auth: 'tools',
  success: { status: 204 },
  errors: ['not_found'],
});

export const listScheduleRuns = defineOperation({
  id: 'listScheduleRuns',
  method: 'get',
  path: '/api/v1/schedules/{id}/runs',
  summary: 'List the runs of a schedule',
  description: `Runs are listed by the times for which they are, the latest first, and kept for ${RUN_KEPT_DAYS} days.`,
  tag: TAG,
  auth: 'tools',
  query: { type: 'object', properties: PAGE, required: [], additionalProperties: false },
  success: { status: 200, schema: listOf(scheduleRun) },
  errors: ['not_found'],
});

export const triggerSchedule = defineOperation({
  id: 'triggerSchedule',
  method: 'post',
  path: '/api/v1/schedules/{id}/trigger',
  summary: 'Run a schedule now',
  description:
    'Adds a run to those of the clock, also while the schedule is paused. The overlap policy applies. `Idempotency-Key` works: the same key gives the same run. ' +
    `An account can trigger ${MAX_TRIGGERS} runs in 24 hours; further requests get \`rate_limited\`.`,
  tag: TAG,
  auth: 'tools',
  success: { status: 202, schema: scheduleRun },
  errors: ['invalid_header', 'not_found', 'tool_not_allowed', 'account_suspended'],
});

export const backfillBody = {
  type: 'object',
  properties: {
    from: { type: 'string', format: 'date-time', description: 'First time of the period.' },
    to: {
      type: 'string',
      format: 'date-time',
      description: `Last time of the period: not in the future, and at most ${BACKFILL_DAYS.length} days after \`from\`.`,
    },
  },
  required: ['from', 'to'],
  additionalProperties: false,
} as const;

export const backfilled = {
  type: 'object',
  properties: {
    times: { type: 'integer', description: 'Times of the schedule in the period.' },
    added: { type: 'integer', description: 'Runs that were added: for the times that had none.' },
  },
  required: ['times', 'added'],
  additionalProperties: false,
} as const;

export const backfillSchedule = defineOperation({
  id: 'backfillSchedule',
  method: 'post',
  path: '/api/v1/schedules/{id}/backfill',
  summary: 'Add runs for past times',
  description:
    `Adds a run for each time of the schedule in a period of the last ${BACKFILL_DAYS.past} days that has none: at most ${MAX_BACKFILL} in one request. ` +
    'They run in their order, several at the same time, whatever the overlap policy, and their results are not compared. Repeating the request adds nothing.',
  tag: TAG,
  auth: 'tools',
  body: backfillBody,
  success: { status: 202, schema: backfilled },
  errors: ['not_found', 'tool_not_allowed', 'account_suspended', 'limit_reached', 'pool_busy'],
});

export const scheduleCallback = {
  ...batchCallback,
  properties: {
    ...batchCallback.properties,
    event: { type: 'string', enum: [SCHEDULE_CHANGED], description: 'What it reports.' },
  },
} as const;
export type ScheduleCallbackRow = FromSchema<typeof scheduleCallback>;

export const listScheduleCallbacks = defineOperation({
  id: 'listScheduleCallbacks',
  method: 'get',
  path: '/api/v1/schedules/{id}/callbacks',
  summary: 'List the callbacks of a schedule',
  tag: TAG,
  auth: 'tools',
  query: { type: 'object', properties: PAGE, required: [], additionalProperties: false },
  success: { status: 200, schema: listOf(scheduleCallback) },
  errors: ['not_found'],
});

export const scheduleResend = { ...batchResend } as const;

export const resendScheduleCallbacks = defineOperation({
  id: 'resendScheduleCallbacks',
  method: 'post',
  path: '/api/v1/schedules/{id}/callbacks/resend',
  summary: 'Send callbacks of a schedule again',
  description: `Sends up to ${MAX_RESENT} callbacks of a schedule ${SENT_AGAIN}`,
  tag: TAG,
  auth: 'tools',
  body: scheduleResend,
  success: { status: 200, schema: resent },
  errors: ['not_found'],
});

export const SCHEDULE_OPERATIONS: readonly Operation[] = [
  createSchedule,
  listSchedules,
  getSchedule,
  changeSchedule,
  deleteSchedule,
  listScheduleRuns,
  triggerSchedule,
  backfillSchedule,
  listScheduleCallbacks,
  resendScheduleCallbacks,
];
