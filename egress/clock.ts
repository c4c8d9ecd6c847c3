import { ServiceError } from '../schemas/errors.ts';
import { startCountdown } from './countdown.ts';

/** Time limits of outbound work. */
export interface Limits {
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
}

/** Running limits; disposing of them stops their timer. */
export interface Clock extends Limits, Disposable {
  /** Later than the deadline that was asked for by the time that does not count (`countdown.ts`). */
  readonly deadline: number;
  /** Stops counting while the work is not waiting for the target. */
  pause(): void;
  resume(): void;
  /** Runs when a limit is hit before the clock is disposed of. */
  onEnd(stop: () => void): void;
  /** Returns the abort reason when a limit was hit, else the error. */
  explain(error: unknown): unknown;
}

/**
 * Starts a clock whose signal aborts at the deadline, or with the outer signal and its reason. The deadline's reason is
 * `target_timeout` when the target had all of the time, and `deadline_exceeded` when this process used it up.
 * One timer covers all of the work: a timeout that restarts with every byte never ends a slow drip.
 */
export function startClock({ signal: outer, deadline }: Limits): Clock {
  const controller = new AbortController();
  const { signal } = controller;
  const stop = (): void => controller.abort(outer.reason);
  const countdown = startCountdown(deadline - Date.now(), (end) =>
    controller.abort(
      end === 'elapsed' ? new ServiceError('target_timeout') : new ServiceError('deadline_exceeded'),
    ),
  );
  const dispose = (): void => {
    countdown[Symbol.dispose]();
    outer.removeEventListener('abort', stop);
  };
  signal.addEventListener('abort', dispose, { once: true });
  if (outer.aborted) stop();
  else outer.addEventListener('abort', stop, { once: true });
  return {
    signal,
    get deadline() {
      return Date.now() + countdown.left;
    },
    pause: () => countdown.pause(),
    resume: () => countdown.resume(),
    onEnd: (end) => {
      if (signal.aborted) end();
      else signal.addEventListener('abort', end, { once: true });
    },
    explain: (error) => (signal.aborted ? signal.reason : error),
    [Symbol.dispose]: dispose,
  };
}

/** Settles as the work does, or rejects as soon as the signal aborts. @throws the signal's reason */
export function untilAborted<O>(work: Promise<O>, signal: AbortSignal): Promise<O> {
  const { promise, resolve, reject } = Promise.withResolvers<O>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}
