import type { Core } from './core.ts';
import { retry } from './retry.ts';
import { StoppedError } from './stopSignal.ts';

/**
 * Milliseconds during which further attempts start. With the driver's time limit of 10 s for the last one, less than a local
 * stack and Kubernetes wait for a process.
 */
const START_MS = 45_000;

/**
 * Repeats a step of the start of a process while its server does not answer: all processes of an installation start at once,
 * and the server may be busy with the requests of the others.
 *
 * @param server its name, for the log
 * @param isTransient whether the step can succeed after this error
 * @param step must be idempotent: an operation that failed may have been applied
 * @throws a permanent error at once; after 45 s the last error; StoppedError if the process must stop
 */
export async function retryStart<T>(
  { stopping, log }: Pick<Core, 'stopping' | 'log'>,
  server: string,
  isTransient: (error: unknown) => boolean,
  step: () => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(START_MS)]);
  const onFault = (error: unknown) =>
    log.warn({ err: error, server }, 'the server does not answer; the start waits for it');
  try {
    return await retry(step, isTransient, signal, onFault);
  } catch (error) {
    throw stopping.aborted ? new StoppedError() : error;
  }
}
