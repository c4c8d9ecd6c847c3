import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { persist } from '../../workers/platform/retryUntilAborted.ts';
import type { CallRequest, CallResult } from '../../workflows/types.ts';
import { resultOf } from './workflowResult.ts';

/** The workflows of calls, as the API sees them. Each step goes on until Temporal answers or the signal is aborted. */
export interface CallWorkflow {
  /** Starts the call's workflow unless it was started before; either way the workflow is there afterwards. */
  start(request: CallRequest, signal: AbortSignal): Promise<void>;
  /** Waits for its end. @throws WorkflowFailedError */
  result(callId: string, signal: AbortSignal): Promise<CallResult>;
  cancel(callId: string, signal: AbortSignal): Promise<void>;
}

const TOOL = defineSearchAttributeKey('Tool', 'KEYWORD');
const ACCOUNT = defineSearchAttributeKey('AccountId', 'KEYWORD');

/** @param onFault hears when Temporal is not to be reached and asked again */
export function createCallWorkflow(client: Client, onFault: (error: unknown) => void): CallWorkflow {
  const ask = <T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    persist(client, step, signal, onFault);
  const handleOf = (callId: string) =>
    client.workflow.getHandle<(call: CallRequest) => Promise<CallResult>>(callId);

  async function startOnce(request: CallRequest): Promise<void> {
    try {
      await client.workflow.start('callTool', {
        workflowId: request.callId,
        taskQueue: 'orchestrator',
        args: [request],
        // The workers of workflows serve accounts in turn.
        priority: { fairnessKey: request.accountId },
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: 'USE_EXISTING',
        typedSearchAttributes: [
          { key: TOOL, value: request.policy.tool },
          { key: ACCOUNT, value: request.accountId },
        ],
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }

  return {
    start: (request, signal) => ask(() => startOnce(request), signal),
    result: (callId, signal) => ask(() => resultOf(client, handleOf(callId), signal), signal),
    cancel: (callId, signal) =>
      ask(async () => {
        await handleOf(callId).cancel();
      }, signal),
  };
}
