/** The phases of a call that renders a page, in order. */
export const PHASES = ['queue', 'navigate', 'settle', 'overlays', 'scroll', 'capture'] as const;
export type Phase = (typeof PHASES)[number];

/** Counters of one browser pool since the pool was created. */
export interface BrowserMetrics {
  /** Number of calls that are waiting for a browser. */
  queued: number;
  running: number;
  jobs: number;
  phases: Record<Phase, { count: number; totalMs: number }>;
  /**
   * Number of browsers by event. `recycled`: replaced after their planned number of calls. `discarded`: replaced after
   * a call that timed out or crashed its page. `overMemory`: killed at the memory limit. `hung`: did not respond.
   * `failed`: did not start.
   */
  browsers: {
    started: number;
    recycled: number;
    discarded: number;
    crashed: number;
    overMemory: number;
    hung: number;
    failed: number;
  };
}

export const createMetrics = (): BrowserMetrics => {
  const none = () => ({ count: 0, totalMs: 0 });
  return {
    queued: 0,
    running: 0,
    jobs: 0,
    phases: {
      queue: none(),
      navigate: none(),
      settle: none(),
      overlays: none(),
      scroll: none(),
      capture: none(),
    },
    browsers: { started: 0, recycled: 0, discarded: 0, crashed: 0, overMemory: 0, hung: 0, failed: 0 },
  };
};

/** Runs one phase of a call and records its duration. */
export async function timed<T>(metrics: BrowserMetrics, phase: Phase, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    metrics.phases[phase].count += 1;
    metrics.phases[phase].totalMs += performance.now() - startedAt;
  }
}
