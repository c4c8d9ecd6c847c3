import { ServiceError } from '../schemas/errors.ts';

/** When outbound work must stop: at the deadline, or as soon as the signal aborts. */
export interface Limits {
  signal: AbortSignal;
  /** Epoch milliseconds. */
  deadline: number;
}

/** A running time limit of outbound work. Disposing of it stops its timer. */
export interface Clock extends Limits, Disposable {
  /** Marks that nothing waits for the target until `resume`. */
  pause(): void;
  resume(): void;
  /** Registers a callback for when the deadline passes or the outer signal aborts before the clock is disposed of. */
  onEnd(stop: () => void): void;
  /** Returns the reason of the abort if the deadline has passed or the outer signal has aborted, else the given error. */
  explain(error: unknown): unknown;
}

/**
 * Starts a clock. Its signal aborts at the deadline: with `target_timeout` if the work then waits for the target, else with
 * `deadline_exceeded`, which is also the reason if no time was left at the start. Before the deadline, it aborts when the
 * outer signal does, with the same reason. One timer covers all of the work, because a timeout that restarts with every
 * received byte would never end a connection to a target that sends slowly.
 */
export function startClock({ signal: outer, deadline }: Limits): Clock {
  const controller = new AbortController();
  const { signal } = controller;
  const leftMs = deadline - Date.now();
  let isWaiting = leftMs > 0;
  const end = (): void =>
    controller.abort(new ServiceError(isWaiting ? 'target_timeout' : 'deadline_exceeded'));
  // The outer signal can be the time limit of the whole call, whose timer may run first when both are late.
  const stop = (): void => (Date.now() < deadline ? controller.abort(outer.reason) : end());
  const timer = setTimeout(end, Math.max(0, leftMs));
  const dispose = (): void => {
    clearTimeout(timer);
    outer.removeEventListener('abort', stop);
  };
  signal.addEventListener('abort', dispose, { once: true });
  if (outer.aborted) controller.abort(outer.reason);
  else outer.addEventListener('abort', stop, { once: true });
  return {
    signal,
    deadline,
    pause: () => {
      isWaiting = false;
    },
    resume: () => {
      isWaiting = true;
    },
    onEnd: (stopWork) => {
      if (signal.aborted) stopWork();
      else signal.addEventListener('abort', stopWork, { once: true });
    },
    explain: (error) => {
      // The timer is late when this process was busy at the deadline.
      if (Date.now() >= deadline) end();
      return signal.aborted ? signal.reason : error;
    },
    [Symbol.dispose]: dispose,
  };
}
