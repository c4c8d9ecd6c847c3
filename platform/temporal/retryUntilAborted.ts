import { type Client, ServiceError as GrpcError } from '@temporalio/client';
import { NamespaceNotFoundError } from '@temporalio/common';
import { retry } from '../retry.ts';

/** gRPC status of a request that Temporal will never accept, so that retrying is pointless. */
const INVALID_ARGUMENT = 3;

const statusOf = (error: unknown): number | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null;

/**
 * Whether an error is a temporary fault of Temporal or of the connection to Temporal. NamespaceNotFound is one, because an
 * overloaded Temporal server reports existing namespaces as not found.
 */
export function isTransient(error: unknown): boolean {
  if (error instanceof NamespaceNotFoundError) return true;
  const status = statusOf(error) ?? (error instanceof GrpcError ? statusOf(error.cause) : null);
  return (error instanceof GrpcError || status !== null) && status !== INVALID_ARGUMENT;
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
): Promise<T> => retry(() => client.connection.withAbortSignal(signal, step), isTransient, signal, onFault);
