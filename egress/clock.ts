import { ServiceError } from '../schemas/errors.ts';

/** How long work on the outside may go on. */
export interface Limits {
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
}

/** Limits at work; disposing of it stops its timer. */
export interface Clock extends Limits, Disposable {
  /** Runs when the limits are hit before the clock was disposed of. */
  onEnd(stop: () => void): void;
  /** The reason of the end when the limits were hit, which is then why the work failed; else the error itself. */
  explain(error: unknown): unknown;
}

/**
 * Starts a clock whose signal is aborted at the deadline, with `target_timeout`, or with the outer signal and its reason.
 * One timer for all of the work: a time-out that starts anew with every byte never ends a slow drip.
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

/** What comes of work, for as long as somebody waits for it. @throws the signal's reason */
export function untilAborted<O>(work: Promise<O>, signal: AbortSignal): Promise<O> {
  const { promise, resolve, reject } = Promise.withResolvers<O>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}
