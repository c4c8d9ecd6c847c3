import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, ServiceError as GrpcError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { isTransient as isTransientInStore } from '../../store/mongo.ts';

/** Between the first two tries; the pauses double. */
const RETRY_MS = 250;
const RETRY_MOST_MS = 2000;
/** gRPC's status of a request that the server will never take. */
const INVALID_ARGUMENT = 3;

const statusOf = (error: unknown): number | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null;

/**
 * Temporal or the way to it is down; what was asked for may still be there when it comes back. One that is overloaded does
 * not find its own namespaces.
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
    // A request that is made afterwards would not hear of it.
    signal.throwIfAborted();
    try {
      return await step();
    } catch (error) {
      if (signal.aborted || !isTransient(error)) throw error;
      if (faults === 0) onFault(error);
    }
    await sleep(Math.min(RETRY_MS * 2 ** faults, RETRY_MOST_MS));
  }
}

/**
 * Asks Temporal until it answers or the signal says that time is up.
 *
 * @param client best one that does not retry by itself (`connectClient`): what it asks ends with the signal
 * @param step what is asked, with this client
 * @param onFault hears of the first fault after which it is asked again
 * @throws what is no passing fault, at once; the last fault or the signal's reason
 */
export const retryUntilAborted = <T>(
  client: Client,
  step: () => Promise<T>,
  signal: AbortSignal,
  onFault: (error: unknown) => void = () => undefined,
): Promise<T> =>
  retry(() => client.connection.withAbortSignal(signal, step), isTransientInTemporal, signal, onFault);

/**
 * Does a step in MongoDB until it is done or the signal says that time is up. One that was begun ends by the driver's own
 * time-outs.
 *
 * @param step may be done twice: of one that failed nobody knows whether it was done
 * @throws what is no passing fault, at once; the last fault or the signal's reason
 */
export const retryStoreUntilAborted = <T>(
  step: () => Promise<T>,
  signal: AbortSignal,
  onFault: (error: unknown) => void = () => undefined,
): Promise<T> => retry(step, isTransientInStore, signal, onFault);
