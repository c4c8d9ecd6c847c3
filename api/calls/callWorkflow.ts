import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import proto from '@temporalio/proto';
import { retryUntilAborted } from '../../platform/temporal/retryUntilAborted.ts';
import { inClientSpan } from '../../platform/trace.ts';
import type { callTool } from '../../workflows/callTool.ts';
import { SEARCH_ATTRIBUTES, TASK_QUEUES, WORKFLOWS, workflowIds } from '../../workflows/contract.ts';
import type { CallRequest, CallResult } from '../../workflows/types.ts';
import { resultOf } from './workflowResult.ts';

const STARTED = proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;

/** How far a running call is: before or after the work of the tool, waiting for a worker, or in the tool. */
export type CallStep = 'ledger' | 'waiting' | 'tool';

/**
 * The operations of the API on the workflow of a call. Each operation is retried until Temporal answers or the signal
 * aborts.
 */
export interface CallWorkflow {
  /**
   * Starts the call's workflow; no-op if it has been started before, even if it has ended.
   *
   * @param running calls of the account that this process runs in the pool, including this one
   */
  start(request: CallRequest, running: number, signal: AbortSignal): Promise<void>;
  /** Waits until the workflow ends and returns its result. @throws WorkflowFailedError */
  result(callId: string, signal: AbortSignal): Promise<CallResult>;
  /** Requests the cancellation. @throws WorkflowNotFoundError if the workflow has ended or does not exist */
  cancel(callId: string, signal: AbortSignal): Promise<void>;
  /** Returns how far the workflow is. @throws WorkflowNotFoundError if it does not exist */
  step(callId: string, signal: AbortSignal): Promise<CallStep>;
}

/**
 * Creates the operations on the workflows of calls. @param onFault receives the first transient error of an
 * operation, before the operation is retried
 */
export function createCallWorkflow(client: Client, onFault: (error: unknown) => void): CallWorkflow {
  const retry = <T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    retryUntilAborted(client, step, signal, onFault);
  const handleOf = (callId: string) => client.workflow.getHandle<typeof callTool>(workflowIds.call(callId));

  async function startOnce(request: CallRequest, running: number): Promise<void> {
    try {
      await client.workflow.start<typeof callTool>(WORKFLOWS.callTool, {
        workflowId: workflowIds.call(request.callId),
        taskQueue: TASK_QUEUES.orchestrator,
        args: [request],
        // With a fairness key, the orchestrator's queue serves the accounts in turn. The weight lets an account with a
        // single call pass accounts with many; 1 is the weight of all other workflows.
        priority: { fairnessKey: request.accountId, fairnessWeight: 1 / running },
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
        typedSearchAttributes: [
          { key: SEARCH_ATTRIBUTES.tool, value: request.policy.tool },
          { key: SEARCH_ATTRIBUTES.accountId, value: request.accountId },
        ],
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }

  return {
    start: (request, running, signal) =>
      inClientSpan('start workflow callTool', () => retry(() => startOnce(request, running), signal)),
    result: (callId, signal) => retry(() => resultOf(client, handleOf(callId), signal), signal),
    cancel: (callId, signal) =>
      retry(async () => {
        await handleOf(callId).cancel();
      }, signal),
    step: (callId, signal) =>
      retry(async () => {
        const { raw } = await handleOf(callId).describe();
        const [tool] = raw.pendingActivities ?? [];
        if (tool === undefined) return 'ledger';
        return tool.state === STARTED ? 'tool' : 'waiting';
      }, signal),
  };
}
