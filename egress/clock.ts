import { ServiceError } from '../schemas/errors.ts';

/** Time limits of outbound work. */
export interface Limits {
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
}

/** A running deadline; disposing of it stops its timer. */
export interface Clock extends Limits, Disposable {
  /** Registers a callback for when a limit fires before the clock is disposed of. */
  onEnd(stop: () => void): void;
  /** Returns the abort reason when a limit fired, else the error. */
  explain(error: unknown): unknown;
}

/**
 * Starts a clock whose signal is aborted at the deadline with `target_timeout`, or with the outer signal and its reason.
 * It is one timer for all of the work: a timer that restarts with every byte would never end a slow drip.
 */
export function startClock({ signal: outer, deadline }: Limits): Clock {
  const controller = new AbortController();
  const { signal } = controller;
  const stop = (): void => controller.abort(outer.reason);
  const timer = setTimeout(
    () => controller.abort(new ServiceError('target_timeout')),
    Math.max(0, deadline - Date.now()),
  );
  const dispose = (): void => {
    clearTimeout(timer);
    outer.removeEventListener('abort', stop);
  };
  signal.addEventListener('abort', dispose, { once: true });
  if (outer.aborted) stop();
  else outer.addEventListener('abort', stop, { once: true });
  return {
    signal,
    deadline,
    onEnd: (end) => {
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    },
    explain: (error) => (signal.aborted ? signal.reason : error),
    [Symbol.dispose]: dispose,
  };
}

/** Awaits work until the signal aborts; the work itself goes on. @throws the signal's reason */
export function untilAborted<O>(work: Promise<O>, signal: AbortSignal): Promise<O> {
  const { promise, resolve, reject } = Promise.withResolvers<O>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}
