import { defineSearchAttributeKey } from '@temporalio/common';
import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Pool } from '../schemas/tool.ts';
import type { Resend } from '../store/deliveries.ts';

/**
 * The names that workflows, workers and clients share with Temporal. Running workflows and recorded histories contain
 * them, so a change needs the same care as a change of workflow code.
 */

/** Workflow types: the exports of `index.ts`, which test/architecture.test.ts compares. */
export const WORKFLOWS = {
  allowance: 'allowance',
  callTool: 'callTool',
  dispatchEvents: 'dispatchEvents',
  sweep: 'sweep',
  webhookEndpoint: 'webhookEndpoint',
} as const;

/** Task queues beside those of the tools: workflows with their local activities, and deliveries of webhooks. */
export const TASK_QUEUES = { orchestrator: 'orchestrator', delivery: 'delivery' } as const;

/** Temporal's worker deployment of the orchestrators. A version of it is a build (`BUILD_ID`). */
export const WORKER_DEPLOYMENT = 'orchestrator';

/** Task queue of the tools of a pool. */
export const toolQueue = (pool: Pool) => `tools-${pool}` as const;

export const workflowIds = {
  call: (callId: string): string => callId,
  webhookEndpoint: (endpointId: string): string => `webhook-${endpointId}`,
  /** Dispatches the events of one call's settlement. */
  dispatchForCall: (callId: string): string => `dispatch-call-${callId}`,
  /** Dispatches the other events of an account; at most one runs per account. */
  dispatchForAccount: (accountId: string): string => `dispatch-account-${accountId}`,
};

/** Search attributes of a call's workflow. */
export const SEARCH_ATTRIBUTES = {
  tool: defineSearchAttributeKey('Tool', 'KEYWORD'),
  accountId: defineSearchAttributeKey('AccountId', 'KEYWORD'),
};

/** To `dispatchEvents`: the account has more new events. */
export const moreEvents = defineSignal('moreEvents');

/** To `webhookEndpoint`: deliveries were queued, or the endpoint was deleted. */
export const wake = defineSignal('wake');
/** To `webhookEndpoint`: stop deliveries. */
export const disable = defineSignal('disable');
/** To `webhookEndpoint`: reset the failures and resume deliveries. */
export const enable = defineUpdate<void>('enable');
/** To `webhookEndpoint`: queue deliveries again. Returns how many were queued. */
export const resend = defineUpdate<number, [Resend]>('resend');
/**
 * To `webhookEndpoint`: send the test `testId`. Returns the id of the attempt. Rejected if the attempt could only start
 * after `beginUntil` (epoch milliseconds).
 */
export const test = defineUpdate<string, [testId: string, beginUntil?: number]>('test');

/** Options with which every client starts the workflow of an endpoint. */
export const webhookEndpointOptions = (endpointId: string) => ({
  workflowId: workflowIds.webhookEndpoint(endpointId),
  taskQueue: TASK_QUEUES.orchestrator,
  args: [endpointId] as [string],
  priority: { fairnessKey: endpointId },
});
