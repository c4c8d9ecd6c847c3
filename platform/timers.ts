/** The source of time and of timers. Tests pass a source whose time they control. */
export interface Timers {
  /** Monotonic time in milliseconds since an arbitrary moment. */
  now(): number;
  /** Calls `callback` once after `ms` milliseconds. @returns cancels the call */
  after(ms: number, callback: () => void): () => void;
}

/** The monotonic clock and the timers of this process. */
export const systemTimers: Timers = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
