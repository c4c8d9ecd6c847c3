import { retry } from '../../platform/retry.ts';
import { isTransient } from './mongo.ts';

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
): Promise<T> => retry(step, isTransient, signal, onFault);

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
