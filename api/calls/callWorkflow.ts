import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApplicationFailure,
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import proto from '@temporalio/proto';
import { callOptions } from '../../platform/temporal/callStart.ts';
import { deleteHistory } from '../../platform/temporal/deleteHistory.ts';
import { retryUntilAborted } from '../../platform/temporal/retryUntilAborted.ts';
import { inClientSpan } from '../../platform/trace.ts';
import { isErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { callTool } from '../../workflows/callTool.ts';
import { isCallFailure, TASK_QUEUES, WORKFLOWS, workflowIds } from '../../workflows/contract.ts';
import type { CallRequest, CallResult } from '../../workflows/types.ts';
import type { FastLane } from './fastLane.ts';

const STARTED = proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;
/** Time limit for an operation of the owner on a running call. */
const OPERATION_MS = 5000;
/** How often and at which interval a cancellation is repeated: the workflow of an accepted call may not have started. */
const CANCEL_ATTEMPTS = 5;
const CANCEL_INTERVAL_MS = 200;
/** Duration of the first poll for a result; each further poll is twice as long. */
const FIRST_POLL_MS = 3000;
/** The Temporal server's own limit for a long poll (`history.longPollExpirationInterval`). */
const LONGEST_POLL_MS = 20_000;

/** How far a running call is: before or after the work of the tool, waiting for a worker, or in the tool. */
type CallStep = 'ledger' | 'waiting' | 'tool';

/** The end of a workflow without a result. */
export interface FailedEnd {
  state: 'failed';
  /** The error with which the workflow settled the call; null if it was terminated or timed out, and settled nothing. */
  refusal: ServiceError | null;
  available: number | null;
  error: Error;
}

/** How the workflow of a call ended. `unknown`: Temporal has no such workflow. */
export type WorkflowEnd =
  | { state: 'completed'; result: CallResult }
  | FailedEnd
  | { state: 'unknown'; error: Error };

/** The workflow of a call that was started. */
export interface StartedWorkflow {
  /** Waits until the workflow ends, as `CallWorkflow.result` does, or its result is known. */
  end(signal: AbortSignal): Promise<WorkflowEnd>;
}

/**
 * The operations of the API on the workflow of a call. Each is retried until Temporal answers or its time has passed. No
 * other file in this folder sends requests to Temporal.
 */
export interface CallWorkflow {
  /**
   * Starts the call's workflow; no-op if it has been started before, even if it has ended.
   *
   * @param running calls of the account that this process runs in the pool, including this one
   */
  start(request: CallRequest, running: number, signal: AbortSignal): Promise<StartedWorkflow>;
  /** Waits until the workflow ends. @throws if Temporal cannot be asked until the signal aborts */
  result(callId: string, signal: AbortSignal): Promise<WorkflowEnd>;
  /** Requests the cancellation for a caller who has disconnected. @throws if the workflow has ended or does not exist */
  cancel(callId: string, signal: AbortSignal): Promise<void>;
  /**
   * Requests the cancellation for the owner of the call. The workflow then refunds the call unless it is already charging it. A
   * call that acts on the outside world completes once a worker has started it.
   *
   * @returns false if there is no workflow to cancel, because the call has ended
   */
  cancelForOwner(callId: string): Promise<boolean>;
  /** Returns how far a running call is; null if its workflow does not exist. */
  step(callId: string): Promise<CallStep | null>;
  /** Deletes the history of a call that has ended. */
  deleteHistory(callId: string): Promise<void>;
}

function ignoreStarted(error: unknown): void {
  if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
}

/** Converts the failure of a workflow to an error of the error table. */
function refusalOf({ cause }: WorkflowFailedError): Pick<FailedEnd, 'refusal' | 'available'> {
  if (!(cause instanceof ApplicationFailure && cause.type)) return { refusal: null, available: null };
  const details = cause.details?.[0];
  const { members, retryAfter, available } = isCallFailure(details)
    ? details
    : { members: {}, retryAfter: null, available: null };
  const code = isErrorCode(cause.type) ? cause.type : 'internal';
  const refusal = new ServiceError(code, {
    ...members,
    ...(code === cause.type ? { detail: cause.message } : {}),
    ...(retryAfter === null ? {} : { retryAfter }),
  });
  return { refusal, available };
}

/**
 * Creates the operations on the workflows of calls. @param onFault receives the first transient error of an
 * operation, or of a poll for a result, before it is retried
 * @param fastLane starts the workflows of fast tools. Default: they are started as all others
 */
export function createCallWorkflow(
  client: Client,
  onFault: (error: unknown) => void,
  fastLane?: FastLane,
): CallWorkflow {
  const retry = <T>(step: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    retryUntilAborted(client, step, signal, onFault);
  const handleOf = (callId: string) => client.workflow.getHandle<typeof callTool>(workflowIds.call(callId));

  /**
   * Waits for the end of a workflow. Under load the Temporal server sometimes does not answer a long poll when the
   * workflow ends; that poll expires after 20 s, and the next one returns the result at once. Therefore the first polls
   * are short. They are aborted instead of given a gRPC deadline: the server answers a poll with less than one second
   * left immediately and without a result, and the SDK would then poll in a tight loop.
   */
  async function result(callId: string, signal: AbortSignal): Promise<WorkflowEnd> {
    for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(2 * pollMs, LONGEST_POLL_MS)) {
      const poll = AbortSignal.timeout(pollMs);
      try {
        const ended = await retry(() => handleOf(callId).result(), AbortSignal.any([signal, poll]));
        return { state: 'completed', result: ended };
      } catch (error) {
        if (error instanceof WorkflowFailedError) return { state: 'failed', ...refusalOf(error), error };
        if (error instanceof WorkflowNotFoundError) return { state: 'unknown', error };
        if (signal.aborted || !poll.aborted) throw error;
      }
    }
  }

  const cancel = (callId: string, signal: AbortSignal): Promise<void> =>
    retry(async () => {
      await handleOf(callId).cancel();
    }, signal);

  return {
    async start(request, running, signal) {
      const call = { request, running };
      const started = await inClientSpan('start workflow callTool', () =>
        retry(async () => {
          const inFastLane = await fastLane?.start(call, signal);
          if (inFastLane != null) return inFastLane;
          const options = callOptions(call, TASK_QUEUES.orchestrator);
          await client.workflow.start<typeof callTool>(WORKFLOWS.callTool, options).catch(ignoreStarted);
          return null;
        }, signal),
      );
      return {
        async end(timeout) {
          const early = await started?.result;
          return early == null ? result(request.callId, timeout) : { state: 'completed', result: early };
        },
      };
    },

    result,

    cancel,

    async cancelForOwner(callId) {
      const signal = AbortSignal.timeout(OPERATION_MS);
      for (let left = CANCEL_ATTEMPTS; left > 0; left--) {
        try {
          await cancel(callId, signal);
          return true;
        } catch (error) {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
        }
        await sleep(CANCEL_INTERVAL_MS);
      }
      return false;
    },

    async step(callId) {
      try {
        const { raw } = await retry(() => handleOf(callId).describe(), AbortSignal.timeout(OPERATION_MS));
        const [tool] = raw.pendingActivities ?? [];
        if (tool === undefined) return 'ledger';
        return tool.state === STARTED ? 'tool' : 'waiting';
      } catch (error) {
        if (error instanceof WorkflowNotFoundError) return null;
        throw error;
      }
    },

    deleteHistory: (callId) => deleteHistory(client, workflowIds.call(callId)),
  };
}
