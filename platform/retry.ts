import { setTimeout as sleep } from 'node:timers/promises';

/** Pause in milliseconds before the first retry. It doubles with each further retry, up to `MAX_RETRY_MS`. */
const RETRY_MS = 250;
const MAX_RETRY_MS = 2000;

/**
 * Repeats a step until it succeeds or the signal aborts. A running step is not aborted.
 *
 * @param isTransient whether the step can succeed after this error
 * @param onFault receives the first transient error
 * @throws a permanent error at once; after an abort the last error or the signal's reason
 */
export async function retry<T>(
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
