import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, ServiceError as GrpcError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { isTransient as isTransientInStore } from '../store/mongo/mongo.ts';

/** Pause in milliseconds before the first retry. It doubles with each further retry, up to `MAX_RETRY_MS`. */
const RETRY_MS = 250;
const MAX_RETRY_MS = 2000;
/** gRPC status of a request that Temporal will never accept, so that retrying is pointless. */
const INVALID_ARGUMENT = 3;

const statusOf = (error: unknown): number | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null;

/**
 * Whether an error is a temporary fault of Temporal or of the connection to Temporal. NamespaceNotFound is one, because an
 * overloaded Temporal server reports existing namespaces as not found.
 */
function isTransientInTemporal(error: unknown): boolean {
  if (error instanceof NamespaceNotFoundError) return true;
  const status = statusOf(error) ?? (error instanceof GrpcError ? statusOf(error.cause) : null);
  return (error instanceof GrpcError || status !== null) && status !== INVALID_ARGUMENT;
}

async function retry<T>(
  step: () => Promise<T>,
  isTransient: (error: unknown) => boolean,
  signal: AbortSignal,
  onFault: (error: unknown) => void,
): Promise<T> {
  for (let faults = 0; ; faults++) {
    // A request that starts after the abort would not be cancelled.
    signal.throwIfAborted();
    try {
      return await step();
    } catch (error) {
      if (signal.aborted || !isTransient(error)) throw error;
      if (faults === 0) onFault(error);
    }
    await sleep(Math.min(RETRY_MS * 2 ** faults, MAX_RETRY_MS));
  }
}

/**
 * Repeats a Temporal request until it succeeds or the signal aborts.
 *
 * @param client preferably without the SDK's own retries (`retries` of `connectClient`), which the signal cannot abort
 * @param step makes the request with this client
 * @param onFault receives the first transient error
 * @throws a permanent error at once; after an abort the last error or the signal's reason
 */
export const retryUntilAborted = <T>(
  client: Client,
  step: () => Promise<T>,
  signal: AbortSignal,
  onFault: (error: unknown) => void = () => undefined,
): Promise<T> =>
  retry(() => client.connection.withAbortSignal(signal, step), isTransientInTemporal, signal, onFault);

/**
 * Repeats a MongoDB operation until it succeeds or the signal aborts. A running operation is not aborted; it ends by the
 * driver's timeouts.
 *
 * @param step must be idempotent: an operation that failed may have been applied
 * @throws a permanent error at once; after an abort the last error or the signal's reason
 */
export const retryStoreUntilAborted = <T>(
  step: () => Promise<T>,
  signal: AbortSignal,
  onFault: (error: unknown) => void = () => undefined,
): Promise<T> => retry(step, isTransientInStore, signal, onFault);

/**
 * Milliseconds during which `retryStore` starts further attempts: longer than an election of a new primary usually
 * takes, and much shorter than a call.
 */
const STORE_RETRY_MS = 15_000;

/**
 * Repeats a MongoDB operation through a short outage, such as a dropped connection or the election of a new primary.
 * The driver repeats an operation only once, and not at all if the connection ends while the command is being sent.
 *
 * @param step must be idempotent: an operation that failed may have been applied
 * @throws a permanent error at once; after 15 s the last error or a TimeoutError
 */
export const retryStore = <T>(step: () => Promise<T>): Promise<T> =>
  retryStoreUntilAborted(step, AbortSignal.timeout(STORE_RETRY_MS));
