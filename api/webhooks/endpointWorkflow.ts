import {
  type Client,
  ServiceError as GrpcError,
  WithStartWorkflowOperation,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { createSemaphorePerHolder } from '../../platform/semaphores.ts';
import { retryUntilAborted } from '../../platform/temporal/retryUntilAborted.ts';
import { isErrorCode, ServiceError } from '../../schemas/errors.ts';
import type { EventKind } from '../../schemas/events.ts';
import type { Resend } from '../../store/webhooks/deliveries.ts';
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
 * The operations of clients on the workflow of a webhook endpoint, which controls its attempts, failure count and
 * state. Each operation starts the workflow if it is not running.
 */
export interface EndpointWorkflow {
  /** Tells the workflow that deliveries were queued or that the endpoint was deleted. */
  wake(endpointId: string): Promise<void>;
  /** Tells the workflow to disable the endpoint. Returns before the workflow has written the new state. */
  disable(endpointId: string): Promise<void>;
  /** @throws ServiceError not_found, pool_busy, rate_limited */
  enable(endpointId: string): Promise<void>;
  /**
   * Like `enable`, but returns as soon as the workflow has accepted the update. For clients without the payload
   * codec, which cannot read the outcome of an update. @throws ServiceError pool_busy, rate_limited
   */
  requestEnable(endpointId: string): Promise<void>;
  /**
   * @returns the number of queued deliveries
   *
   * @throws ServiceError not_found, endpoint_disabled, pool_busy, rate_limited
   */
  resend(endpointId: string, selection: Resend): Promise<number>;
  /**
   * Sends a test event of this kind (default: `webhook.test`).
   *
   * @returns the id of the attempt
   *
   * @throws ServiceError not_found, endpoint_disabled, pool_busy, rate_limited
   */
  test(endpointId: string, testId: string, kind?: EventKind): Promise<string>;
}

/**
 * Timeout of an update. A test waits up to 10 s for a worker and 10 s for the receiver; the rest is for MongoDB and
 * the task queue.
 */
const UPDATE_TIMEOUT_MS = 40_000;
/**
 * How long after the request a test may start. A test that started later would be posted after its caller got an
 * error.
 */
const TEST_START_MS = 20_000;
/**
 * gRPC status of an update that the Temporal server does not admit because ten updates of the workflow are in flight
 * (Temporal's `history.maxInFlightUpdates`). The workflow has not received the update, so it can be sent again.
 */
const RESOURCE_EXHAUSTED = 8;
/** How long an update that the workflow has not received is sent again. */
const ADMISSION_TIMEOUT_MS = 10_000;
const ADMISSION_RETRY_MS = 250;
/**
 * Failure type of an update that the Temporal server rejects because a worker completed its workflow task without
 * processing it (`unprocessedUpdateFailure` in Temporal 1.32).
 */
const UNPROCESSED = 'UnprocessedUpdate';
/**
 * Number of tests of one endpoint that this process has in flight. The others wait here: several API processes together
 * stay below Temporal's limit of ten updates, and a worker that loads the workflow gets few updates at once.
 */
const TESTS_AT_ONCE = 4;
const RETRY_AFTER_SECONDS = 5;
/**
 * Error codes with which the workflow refuses an update and which a later request may not get. Their responses (429,
 * 503) have a `Retry-After` header.
 */
const RETRYABLE: ReadonlySet<string> = new Set(['rate_limited', 'pool_busy']);
/**
 * Timeout of a signal. Short, because the caller waits; if the signal fails, the sweeper wakes the workflow later.
 */
const SIGNAL_TIMEOUT_MS = 5000;
const TRANSPORT_RETRY_MS = 100;

interface UpdateOptions {
  updateId: string;
  startWorkflowOperation: WithStartWorkflowOperation<typeof webhookEndpoint>;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Returns the gRPC status of an error or of its cause; null if there is none. Causes are read because the SDK wraps
 * only some errors of update-with-start.
 */
function statusOf(error: unknown): number | null {
  if (!(error instanceof Error)) return null;
  return 'code' in error && typeof error.code === 'number' ? error.code : statusOf(error.cause);
}

/**
 * Whether the workflow has not received an update, so that the update can be sent again: the Temporal server did not admit
 * it, or rejected it because a worker completed its workflow task without processing it. The latter happens when many
 * updates arrive while the worker loads the workflow.
 */
const isUnprocessed = (error: unknown): boolean =>
  statusOf(error) === RESOURCE_EXHAUSTED ||
  (error instanceof WorkflowUpdateFailedError &&
    error.cause instanceof ApplicationFailure &&
    error.cause.type === UNPROCESSED);

const tooManyRequests = (cause: unknown): ServiceError =>
  new ServiceError('rate_limited', {
    detail: 'Too many requests for this webhook endpoint are running.',
    retryAfter: RETRY_AFTER_SECONDS,
    cause,
  });

/** Converts rejected updates and transport errors to errors of the error table. */
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
  const tests = createSemaphorePerHolder(TESTS_AT_ONCE);

  /**
   * Sends an update. Sends it again if the workflow has not received it, the connection fails, or the workflow run ends
   * before it has accepted the update.
   */
  async function retryUpdate<T>(
    endpointId: string,
    send: (options: UpdateOptions) => Promise<T>,
  ): Promise<T> {
    const deadline = Date.now() + UPDATE_TIMEOUT_MS;
    const admissionDeadline = Date.now() + ADMISSION_TIMEOUT_MS;
    // Temporal applies an update only once, however often it is sent under the same id.
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
        if (isUnprocessed(error)) {
          if (Date.now() + ADMISSION_RETRY_MS > admissionDeadline) throw tooManyRequests(error);
          await pause(ADMISSION_RETRY_MS);
          continue;
        }
        // This includes "workflow update was aborted", the error of an update whose workflow run ends.
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
    async test(endpointId, testId, kind = 'webhook.test') {
      const beginUntil = Date.now() + TEST_START_MS;
      const send = () =>
        retryUpdate(endpointId, (options) =>
          client.workflow.executeUpdateWithStart(test, { ...options, args: [testId, beginUntil, kind] }),
        );
      const waiting = AbortSignal.timeout(ADMISSION_TIMEOUT_MS);
      try {
        using _slot = await tests.acquire(endpointId, waiting);
        return await send();
      } catch (error) {
        throw error === waiting.reason ? tooManyRequests(error) : error;
      }
    },
  };
}
