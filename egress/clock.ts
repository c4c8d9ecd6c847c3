import { ServiceError } from '../schemas/errors.ts';
import { startCountdown } from './countdown.ts';

/** When outbound work must stop: at the deadline, or as soon as the signal aborts. */
export interface Limits {
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
}

/** A running time limit of outbound work. Disposing of it stops its timer. */
export interface Clock extends Limits, Disposable {
  /**
   * Epoch milliseconds: the requested deadline, moved later by the time that did not count, because the clock was paused or
   * this process was blocked (`countdown.ts`).
   */
  readonly deadline: number;
  /** Pauses the time limit until `resume`, so that only time spent waiting for the target counts. */
  pause(): void;
  resume(): void;
  /** Registers a callback for when the deadline passes or the outer signal aborts before the clock is disposed of. */
  onEnd(stop: () => void): void;
  /** Returns the reason of the abort if the deadline has passed or the outer signal has aborted, else the given error. */
  explain(error: unknown): unknown;
}

/**
 * Starts a clock. Its signal aborts when the outer signal does, with the same reason, or at the deadline: with
 * `target_timeout` if all of the time was spent waiting for the target, with `deadline_exceeded` if this process used up the
 * time. One timer covers all of the work, because a timeout that restarts with every received byte would never end a
 * connection to a target that sends slowly.
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

/** Settles like `work`, or rejects as soon as the signal aborts, without stopping the work. @throws the signal's reason */
export function untilAborted<O>(work: Promise<O>, signal: AbortSignal): Promise<O> {
  const { promise, resolve, reject } = Promise.withResolvers<O>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return promise;
}
