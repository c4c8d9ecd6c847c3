import {
  type Client,
  ServiceError as GrpcError,
  WithStartWorkflowOperation,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { isErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { Resend } from '../../store/deliveries.ts';
import { persist } from '../../workers/platform/retryUntilAborted.ts';

/** What an endpoint's workflow is asked for; it owns attempts, failures and state. */
export interface WebhookWorkflow {
  /** There is something to do: deliveries, or the endpoint is gone. */
  wake(endpointId: string): Promise<void>;
  /** @throws ServiceError not_found */
  enable(endpointId: string): Promise<void>;
  /** @returns how many are queued @throws ServiceError not_found, endpoint_disabled */
  resend(endpointId: string, wanted: Resend): Promise<number>;
  /** @returns the id of the attempt @throws ServiceError not_found, endpoint_disabled, pool_busy, rate_limited */
  test(endpointId: string, testId: string): Promise<string>;
}

/** A test waits for a worker and then for the receiver, 10 s each; the rest is for the database and the queue. */
const DEADLINE_MS = 40_000;
/** A test that has not begun by then would be posted after its caller got an error. */
const BEGIN_MS = 20_000;
/**
 * gRPC status of an update that the workflow does not admit because ten are in flight (Temporal's
 * `history.maxInFlightUpdates`). Nothing of it has begun, so it can be asked for again.
 */
const RESOURCE_EXHAUSTED = 8;
/** How long an update waits to be admitted. */
const ADMIT_MS = 10_000;
const ADMIT_AGAIN_MS = 250;
const FULL_RETRY_SECONDS = 5;
/** Short, because the caller waits, and the sweeper wakes it too. */
const WAKE_MS = 5000;
const AGAIN_MS = 100;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The gRPC status of an error; null: it has none. The SDK wraps errors of update-with-start in some cases only. */
function statusOf(error: unknown): number | null {
  if (!(error instanceof Error)) return null;
  return 'code' in error && typeof error.code === 'number' ? error.code : statusOf(error.cause);
}

/** The workflow's refusal, in the terms of the error table. */
function asServiceError(error: unknown): unknown {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  if (cause instanceof ApplicationFailure && isErrorCode(cause.type))
    return new ServiceError(cause.type, { detail: cause.message });
  if (
    error instanceof GrpcError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    statusOf(error) !== null
  )
    return new ServiceError('pool_busy', {
      detail: 'The webhook endpoint could not be asked in time; try again.',
      cause: error,
    });
  return error;
}

export function createWebhookWorkflow(client: Client): WebhookWorkflow {
  const options = (endpointId: string) => ({
    workflowId: `webhook-${endpointId}`,
    taskQueue: 'orchestrator',
    args: [endpointId],
    priority: { fairnessKey: endpointId },
  });

  /** Asks for an update, and again when the run that was asked ended in that moment. */
  async function update<Ret, Args extends unknown[]>(
    endpointId: string,
    name: string,
    args: Args,
  ): Promise<Ret> {
    const deadline = Date.now() + DEADLINE_MS;
    const admitUntil = Date.now() + ADMIT_MS;
    const updateId = crypto.randomUUID();
    for (;;) {
      try {
        return await client.connection.withDeadline(deadline, () =>
          client.workflow.executeUpdateWithStart<(id: string) => Promise<void>, Ret, Args>(name, {
            args,
            updateId,
            startWorkflowOperation: new WithStartWorkflowOperation('webhookEndpoint', {
              ...options(endpointId),
              workflowIdConflictPolicy: 'USE_EXISTING',
            }),
          }),
        );
      } catch (error) {
        if (statusOf(error) === RESOURCE_EXHAUSTED) {
          if (Date.now() + ADMIT_AGAIN_MS > admitUntil)
            throw new ServiceError('rate_limited', {
              detail: 'Too many requests for this webhook endpoint are running.',
              retryAfter: FULL_RETRY_SECONDS,
              cause: error,
            });
          await pause(ADMIT_AGAIN_MS);
          continue;
        }
        // Also "workflow update was aborted": the id of the update makes sure that it is done once.
        const isTransport = error instanceof GrpcError || statusOf(error) !== null;
        if (!isTransport || Date.now() + AGAIN_MS > deadline) throw asServiceError(error);
        await pause(AGAIN_MS);
      }
    }
  }

  return {
    async wake(endpointId) {
      const wake = () =>
        client.workflow.signalWithStart('webhookEndpoint', {
          ...options(endpointId),
          signal: 'wake',
          signalArgs: [],
        });
      await persist(client, wake, AbortSignal.timeout(WAKE_MS));
    },
    enable: (endpointId) => update<void, []>(endpointId, 'enable', []),
    resend: (endpointId, wanted) => update<number, [Resend]>(endpointId, 'resend', [wanted]),
    test: (endpointId, testId) =>
      update<string, [string, number]>(endpointId, 'test', [testId, Date.now() + BEGIN_MS]),
  };
}
