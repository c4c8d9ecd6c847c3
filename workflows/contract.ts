import { defineSearchAttributeKey } from '@temporalio/common';
import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { EventKind } from '../schemas/events.ts';
import type { Lane, Pool } from '../schemas/pools.ts';
import type { CallPolicy } from '../store/calls/callPolicy.ts';
import type { Resend } from '../store/webhooks/deliveries.ts';
import type { CallFailure } from './types.ts';

/**
 * The names that workflows, workers and clients use with Temporal. Running workflows and recorded histories contain
 * them, so renaming one breaks replays in the same way as a change of workflow code.
 */

/** Names of the workflow types. They are the exports of `index.ts`; test/architecture.test.ts compares the two. */
export const WORKFLOWS = {
  accountJobs: 'accountJobs',
  advanceSchedule: 'advanceSchedule',
  allowance: 'allowance',
  audit: 'audit',
  callTool: 'callTool',
  deliverCallback: 'deliverCallback',
  dispatchEvents: 'dispatchEvents',
  fireSchedule: 'fireSchedule',
  runJob: 'runJob',
  sweep: 'sweep',
  webhookEndpoint: 'webhookEndpoint',
} as const;

/**
 * Name of the Temporal header of workflows and activities that holds the `traceparent` (W3C Trace Context) of the
 * span that started them.
 */
export const TRACE_HEADER = 'traceparent';

/**
 * Task queues other than those of the tools: `orchestrator` for workflows and their local activities, `delivery` for
 * attempts of webhook deliveries.
 */
export const TASK_QUEUES = { orchestrator: 'orchestrator', delivery: 'delivery' } as const;

/** Name of the Temporal worker deployment that the orchestrators form. Each build (`BUILD_ID`) is a version of it. */
export const WORKER_DEPLOYMENT = 'orchestrator';

/**
 * Returns the lane of a call. @param running calls of its account in the pool, including this one; missing in older
 * histories
 */
export function laneOf({ isFast, isJob }: Pick<CallPolicy, 'isFast' | 'isJob'>, running = 1): Lane {
  // The other lanes have slots for which no synchronous call waits long.
  if (isJob) return 'further';
  if (isFast === true) return 'fast';
  // Calls that an API without lanes accepted have no `isFast`.
  return isFast === undefined || running <= 1 ? 'first' : 'further';
}

/** Name of the task queue of a pool's lane. */
export const toolQueue = (pool: Pool, lane: Lane = 'first'): string =>
  lane === 'first' ? `tools-${pool}` : `tools-${pool}-${lane}`;

export const workflowIds = {
  call: (callId: string): string => callId,
  /** Id of the workflow that starts the jobs of an account. */
  accountJobs: (accountId: string): string => `jobs-${accountId}`,
  /** Id of the workflow that delivers the callback of a job. */
  callback: (jobId: string): string => `callback-${jobId}`,
  /** Id of the schedule of Temporal that is the clock of a schedule. */
  scheduleClock: (scheduleId: string): string => `clock-${scheduleId}`,
  /**
   * Id of the workflow that a clock starts, to which Temporal appends the time. It says all that the workflow needs: arguments would
   * be encrypted with the master key of the time when the clock was made.
   */
  scheduleFiring: (scheduleId: string, version: number): string => `fire-${scheduleId}-${version}`,
  /** Id of the workflow that starts the runs of a schedule; at most one runs per schedule. */
  scheduleRuns: (scheduleId: string): string => `runs-${scheduleId}`,
  webhookEndpoint: (endpointId: string): string => `webhook-${endpointId}`,
  /** Id of the workflow that dispatches the events of one call's settlement. */
  dispatchForCall: (callId: string): string => `dispatch-call-${callId}`,
  /** Id of the workflow that dispatches all other events of an account; at most one runs per account. */
  dispatchForAccount: (accountId: string): string => `dispatch-account-${accountId}`,
};

/** Nonce of a charge that requires the call to be charged already; nonces of holds are UUIDs. */
export const NO_HOLD = 'none';

/** Search attributes of a call's workflow. Temporal stores them unencrypted. */
export const SEARCH_ATTRIBUTES = {
  tool: defineSearchAttributeKey('Tool', 'KEYWORD'),
  accountId: defineSearchAttributeKey('AccountId', 'KEYWORD'),
};

/** Whether a detail of an `ApplicationFailure` is the `CallFailure` that tools and `callTool` attach. */
export const isCallFailure = (detail: unknown): detail is CallFailure =>
  typeof detail === 'object' &&
  detail !== null &&
  'members' in detail &&
  'retryAfter' in detail &&
  'available' in detail;

/** Signal to `dispatchEvents`: the account has more new events. */
export const moreEvents = defineSignal('moreEvents');

/** Signal to `webhookEndpoint`: deliveries were queued, or the endpoint was deleted. */
export const wake = defineSignal('wake');
/** Signal to `webhookEndpoint`: disable the endpoint. */
export const disable = defineSignal('disable');
/** Update of `webhookEndpoint`: reset the failure count and resume deliveries. */
export const enable = defineUpdate<void>('enable');
/**
 * Update of `webhookEndpoint`: queue deliveries again. Returns how many were queued. A single selected one is attempted at
 * once.
 */
export const resend = defineUpdate<number, [Resend]>('resend');
/**
 * Update of `webhookEndpoint`: send the test event `testId` of this kind (default: `webhook.test`). Returns the id of the
 * attempt. Rejected if the attempt could start only after `beginUntil` (epoch milliseconds).
 */
export const test = defineUpdate<string, [testId: string, beginUntil?: number, kind?: EventKind]>('test');

/** Options with which every client starts an endpoint's workflow. */
export const webhookEndpointOptions = (endpointId: string) => ({
  workflowId: workflowIds.webhookEndpoint(endpointId),
  taskQueue: TASK_QUEUES.orchestrator,
  args: [endpointId] as [string],
  priority: { fairnessKey: endpointId },
});

/**
 * Priority of jobs in every task queue: the lowest, so that the Temporal server hands out a job only while no synchronous call
 * waits, whose priority is 3.
 */
export const JOB_PRIORITY = 5;

/** Activity of every tool worker that does nothing: it is executed when the worker has a free slot. */
export const WAIT_FOR_WORKER = 'waitForWorker';

/** Signal to `accountJobs`: the account has more jobs. */
export const moreJobs = defineSignal('moreJobs');

/** Options with which every client starts the workflow of an account's jobs. */
export const accountJobsOptions = (accountId: string) => ({
  workflowId: workflowIds.accountJobs(accountId),
  taskQueue: TASK_QUEUES.orchestrator,
  args: [accountId] as [string],
  priority: { priorityKey: JOB_PRIORITY, fairnessKey: accountId },
});

/** Signal to `deliverCallback`: attempt the callback now. */
export const sendCallback = defineSignal('sendCallback');

/** Options with which the workflow of a job's callback is started. */
export const callbackOptions = (jobId: string, accountId: string) => ({
  workflowId: workflowIds.callback(jobId),
  taskQueue: TASK_QUEUES.orchestrator,
  args: [jobId, accountId] as [string, string],
  priority: { priorityKey: JOB_PRIORITY, fairnessKey: accountId },
});

/** Pool whose workers compare the results of schedules. It decodes pictures for its tools too. */
export const COMPARISON_POOL = 'cpu' satisfies Pool;

/** Signal to `advanceSchedule`: the schedule has more runs. */
export const moreRuns = defineSignal('moreRuns');

/** Options with which every client starts the workflow of a schedule's runs. */
export const advanceScheduleOptions = (scheduleId: string, accountId: string) => ({
  workflowId: workflowIds.scheduleRuns(scheduleId),
  taskQueue: TASK_QUEUES.orchestrator,
  args: [scheduleId] as [string],
  priority: { priorityKey: JOB_PRIORITY, fairnessKey: accountId },
});
