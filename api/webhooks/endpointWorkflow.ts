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
import { retryUntilAborted } from '../../workers/platform/retryUntilAborted.ts';
import {
  disable,
  enable,
  resend,
  test,
  WORKFLOWS,
  wake,
  webhookEndpointOptions,
} from '../../workflows/contract.ts';
import type { webhookEndpoint } from '../../workflows/webhookEndpoint.ts';

/**
 * The workflows of webhook endpoints, which own attempts, failures and state. Each operation starts the workflow if it
 * is not running.
 */
export interface EndpointWorkflow {
  /** Signals that deliveries were queued or that the endpoint was deleted. */
  wake(endpointId: string): Promise<void>;
  /** Signals to stop deliveries; returns before the workflow has written the state. */
  disable(endpointId: string): Promise<void>;
  /** @throws ServiceError not_found, pool_busy, rate_limited */
  enable(endpointId: string): Promise<void>;
  /**
   * Like `enable`, but returns once the workflow has accepted the update: for clients without the payload codec, which
   * cannot read its outcome. @throws ServiceError pool_busy, rate_limited
   */
  requestEnable(endpointId: string): Promise<void>;
  /**
   * @returns the number of queued deliveries
   *
   * @throws ServiceError not_found, endpoint_disabled, pool_busy, rate_limited
   */
  resend(endpointId: string, selection: Resend): Promise<number>;
  /** @returns the id of the attempt @throws ServiceError not_found, endpoint_disabled, pool_busy, rate_limited */
  test(endpointId: string, testId: string): Promise<string>;
}

/** A test waits up to 10 s for a worker and 10 s for the receiver; the rest is for the database and the task queue. */
const UPDATE_TIMEOUT_MS = 40_000;
/** A test that starts later would be posted after its caller got an error. */
const TEST_START_MS = 20_000;
/**
 * gRPC status of an update that is not admitted because ten are in flight (Temporal's `history.maxInFlightUpdates`).
 * The workflow has not received it, so it can be sent again.
 */
const RESOURCE_EXHAUSTED = 8;
/** How long an update is resent until it is admitted. */
const ADMISSION_TIMEOUT_MS = 10_000;
const ADMISSION_RETRY_MS = 250;
const RETRY_AFTER_SECONDS = 5;
/** Refusals of the workflow that a later request may not get; 429 and 503 carry `Retry-After`. */
const RETRYABLE: ReadonlySet<string> = new Set(['rate_limited', 'pool_busy']);
/** Short because the caller waits; the sweeper also wakes workflows. */
const SIGNAL_TIMEOUT_MS = 5000;
const TRANSPORT_RETRY_MS = 100;

interface UpdateOptions {
  updateId: string;
  startWorkflowOperation: WithStartWorkflowOperation<typeof webhookEndpoint>;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The gRPC status of an error or of its cause, or null. The SDK wraps only some errors of update-with-start. */
function statusOf(error: unknown): number | null {
  if (!(error instanceof Error)) return null;
  return 'code' in error && typeof error.code === 'number' ? error.code : statusOf(error.cause);
}

/** Translates rejected updates and transport errors to the error table. */
function asServiceError(error: unknown): unknown {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
  if (cause instanceof ApplicationFailure && isErrorCode(cause.type))
    return new ServiceError(cause.type, {
      detail: cause.message,
      ...(RETRYABLE.has(cause.type) && { retryAfter: RETRY_AFTER_SECONDS }),
    });
  if (
    error instanceof GrpcError ||
    error instanceof WorkflowUpdateRPCTimeoutOrCancelledError ||
    statusOf(error) !== null
  )
    return new ServiceError('pool_busy', {
      detail: 'The webhook endpoint did not respond in time. Try again.',
      retryAfter: RETRY_AFTER_SECONDS,
      cause: error,
    });
  return error;
}

export function createEndpointWorkflow(client: Client): EndpointWorkflow {
  /** Sends an update, and again when it is not admitted, the connection fails or the run ends before it accepts. */
  async function retryUpdate<T>(
    endpointId: string,
    send: (options: UpdateOptions) => Promise<T>,
  ): Promise<T> {
    const deadline = Date.now() + UPDATE_TIMEOUT_MS;
    const admissionDeadline = Date.now() + ADMISSION_TIMEOUT_MS;
    // Temporal applies the update once, however often it is sent under this id.
    const updateId = crypto.randomUUID();
    for (;;) {
      const startWorkflowOperation = new WithStartWorkflowOperation<typeof webhookEndpoint>(
        WORKFLOWS.webhookEndpoint,
        { ...webhookEndpointOptions(endpointId), workflowIdConflictPolicy: 'USE_EXISTING' },
      );
      try {
        return await client.connection.withDeadline(deadline, () =>
          send({ updateId, startWorkflowOperation }),
        );
      } catch (error) {
        if (statusOf(error) === RESOURCE_EXHAUSTED) {
          if (Date.now() + ADMISSION_RETRY_MS > admissionDeadline)
            throw new ServiceError('rate_limited', {
              detail: 'Too many requests for this webhook endpoint are running.',
              retryAfter: RETRY_AFTER_SECONDS,
              cause: error,
            });
          await pause(ADMISSION_RETRY_MS);
          continue;
        }
        // Includes "workflow update was aborted", the error when the run ends.
        const isTransport = error instanceof GrpcError || statusOf(error) !== null;
        if (!isTransport || Date.now() + TRANSPORT_RETRY_MS > deadline) throw asServiceError(error);
        await pause(TRANSPORT_RETRY_MS);
      }
    }
  }

  async function signal(endpointId: string, definition: typeof wake | typeof disable): Promise<void> {
    const send = () =>
      client.workflow.signalWithStart<typeof webhookEndpoint>(WORKFLOWS.webhookEndpoint, {
        ...webhookEndpointOptions(endpointId),
        signal: definition,
      });
    await retryUntilAborted(client, send, AbortSignal.timeout(SIGNAL_TIMEOUT_MS));
  }

  return {
    wake: (endpointId) => signal(endpointId, wake),
    disable: (endpointId) => signal(endpointId, disable),
    enable: (endpointId) =>
      retryUpdate(endpointId, (options) => client.workflow.executeUpdateWithStart(enable, options)),
    async requestEnable(endpointId) {
      await retryUpdate(endpointId, (options) =>
        client.workflow.startUpdateWithStart(enable, { ...options, waitForStage: 'ACCEPTED' }),
      );
    },
    resend: (endpointId, selection) =>
      retryUpdate(endpointId, (options) =>
        client.workflow.executeUpdateWithStart(resend, { ...options, args: [selection] }),
      ),
    test(endpointId, testId) {
      const beginUntil = Date.now() + TEST_START_MS;
      return retryUpdate(endpointId, (options) =>
        client.workflow.executeUpdateWithStart(test, { ...options, args: [testId, beginUntil] }),
      );
    },
  };
}
