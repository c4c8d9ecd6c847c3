import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Timers } from '../../platform/timers.ts';

/** Timers whose time passes only when a test says so. */
export interface ManualTimers extends Timers {
  /** Lets this many milliseconds pass. Each timer fires when it is due, and what it causes runs before the next one. */
  advance(ms: number): Promise<void>;
  /** Lets this many milliseconds pass without firing any timer, as a blocked event loop does. */
  block(ms: number): void;
}

/** Starts a clock at zero. */
export function createManualTimers(): ManualTimers {
  let time = 0;
  const pending = new Set<{ at: number; callback: () => void }>();
  return {
    now: () => time,
    after(ms, callback) {
      const timer = { at: time + ms, callback };
      pending.add(timer);
      return () => pending.delete(timer);
    },
    async advance(ms) {
      const end = time + ms;
      for (;;) {
        await nextTurn();
        const [next] = [...pending].sort((a, b) => a.at - b.at);
        if (next === undefined || next.at > end) break;
        time = Math.max(time, next.at);
        pending.delete(next);
        next.callback();
      }
      time = end;
    },
    block(ms) {
      time += ms;
    },
  };
}
