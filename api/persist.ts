import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, ServiceError as GrpcError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';

/** Between the first two tries to reach Temporal; the pauses double. */
const RETRY_MS = 250;
const RETRY_MOST_MS = 2000;

/**
 * Temporal or the way to it is down; what was asked for may still be there when it comes back. One that is overloaded does
 * not find its own namespaces.
 */
const isPassing = (error: unknown): boolean =>
  error instanceof GrpcError ||
  error instanceof NamespaceNotFoundError ||
  (error instanceof Error && 'code' in error && typeof error.code === 'number');

/**
 * Asks Temporal until it answers or the signal says that time is up.
 *
 * @param client best one that does not insist by itself (`connectClient`): what it asks ends with the signal
 * @param step what is asked, with this client
 * @param onFault hears of the first fault after which it is asked again
 * @throws what is no passing fault, at once; the last fault or the signal's reason
 */
export async function persist<T>(
  client: Client,
  step: () => Promise<T>,
  signal: AbortSignal,
  onFault: (error: unknown) => void = () => undefined,
): Promise<T> {
  for (let faults = 0; ; faults++) {
    // A request that is made afterwards would not hear of it.
    signal.throwIfAborted();
    try {
      return await client.connection.withAbortSignal(signal, step);
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      if (faults === 0) onFault(error);
    }
    await sleep(Math.min(RETRY_MS * 2 ** faults, RETRY_MOST_MS));
  }
}
