import { systemTimers, type Timers } from './timers.ts';

/** Interval in milliseconds at which a countdown reads the clock. */
const TICK_MS = 100;
/** A timer that fires more than this many milliseconds late was delayed by a blocked event loop, not by scheduling. */
const LATE_MS = 50;
/**
 * Total time in milliseconds of a blocked event loop that is not counted. A countdown that is delayed by more than this
 * ends as `delayed`.
 */
const UNCOUNTED_MS = 10_000;

/** Why a countdown ended: `elapsed` when all of its time was counted, `delayed` when too much time did not count. */
export type CountdownEnd = 'elapsed' | 'delayed';

/** A timer that counts only time in which this process could receive replies. Disposing of the countdown stops it. */
export interface Countdown extends Disposable {
  /** Milliseconds that remain to be counted. */
  readonly left: number;
  /** Stops counting until `resume`, for time in which the work is not waiting for a reply. */
  pause(): void;
  resume(): void;
}

/**
 * Starts a countdown that leaves out time in which the event loop was blocked, because a reply that arrived meanwhile could
 * not be read. Time is measured with timers of 100 ms; a timer that fires late counts only its planned length. When the
 * countdown has run 10 s longer than `ms`, it ends anyway.
 *
 * @param ms milliseconds to count; with 0 or less the countdown ends at once, as `delayed`
 * @param onEnd called once, unless the countdown is disposed of first
 */
export function startCountdown(
  ms: number,
  onEnd: (end: CountdownEnd) => void,
  timers: Timers = systemTimers,
): Countdown {
  const limit = timers.now() + ms + UNCOUNTED_MS;
  let left = Math.max(0, ms);
  let paused = false;
  let countedAt = timers.now();
  let tickMs = 0;
  let cancel = (): void => undefined;

  /** Milliseconds since the last count in which this process could receive a reply. */
  const passed = (): number => {
    if (paused) return 0;
    const elapsed = timers.now() - countedAt;
    return elapsed > tickMs + LATE_MS ? tickMs : elapsed;
  };
  const count = (): void => {
    left = Math.max(0, left - passed());
    countedAt = timers.now();
  };
  const tick = (): void => {
    count();
    if (ms <= 0) onEnd('delayed');
    else if (left === 0) onEnd('elapsed');
    else if (timers.now() >= limit) onEnd('delayed');
    else arm();
  };
  const arm = (): void => {
    tickMs = Math.min(TICK_MS, left);
    cancel = timers.after(tickMs, tick);
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
    [Symbol.dispose]: () => cancel(),
  };
}
