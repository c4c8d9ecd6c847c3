/** Milliseconds between two readings of the time. */
const TICK_MS = 100;
/** A timer that is later than this was delayed by this process, not by ordinary scheduling. */
const LATE_MS = 50;
/** The countdown ends when more time than this was not counted. */
const UNCOUNTED_MS = 10_000;

/** Why a countdown ended: all of its time was counted, or this process delayed the work for too long. */
export type CountdownEnd = 'elapsed' | 'delayed';

/** A timer for something outside this process. Disposing of it stops it. */
export interface Countdown extends Disposable {
  /** Milliseconds that are still to be counted. */
  readonly left: number;
  /** Stops counting while the work is not waiting for the outside. */
  pause(): void;
  resume(): void;
}

/**
 * Counts down the time in which the outside could have been heard. The time in which the event loop was blocked is not
 * counted: a reply that came meanwhile could not be read. It is measured in short ticks; one that fires late counts with
 * its planned length. When more than 10 s are left out, the countdown ends all the same.
 *
 * @param ms without a positive time it ends at once, as `delayed`
 * @param onEnd runs once, unless the countdown is disposed of first
 */
export function startCountdown(ms: number, onEnd: (end: CountdownEnd) => void): Countdown {
  const limit = performance.now() + ms + UNCOUNTED_MS;
  let left = Math.max(0, ms);
  let paused = false;
  let countedAt = performance.now();
  let tickMs = 0;
  let timer: NodeJS.Timeout;

  /** Milliseconds since the last count that are the outside's. */
  const passed = (): number => {
    if (paused) return 0;
    const elapsed = performance.now() - countedAt;
    return elapsed > tickMs + LATE_MS ? tickMs : elapsed;
  };
  const count = (): void => {
    left = Math.max(0, left - passed());
    countedAt = performance.now();
  };
  const tick = (): void => {
    count();
    if (ms <= 0) onEnd('delayed');
    else if (left === 0) onEnd('elapsed');
    else if (performance.now() >= limit) onEnd('delayed');
    else arm();
  };
  const arm = (): void => {
    tickMs = Math.min(TICK_MS, left);
    timer = setTimeout(tick, tickMs);
  };
  arm();
  return {
    get left() {
      return Math.max(0, left - passed());
    },
    pause() {
      count();
      paused = true;
    },
    resume() {
      count();
      paused = false;
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}
