/** What a render spends its time on. */
export const PHASES = ['queue', 'navigate', 'settle', 'overlays', 'scroll', 'capture'] as const;
export type Phase = (typeof PHASES)[number];

/** Of one pool of browsers, since its start. */
export interface BrowserMetrics {
  /** Jobs that wait for a browser, and that have one. */
  queued: number;
  running: number;
  jobs: number;
  phases: Record<Phase, { count: number; totalMs: number }>;
  /**
   * Browsers that were started; replaced after their number of jobs, or after a job that did not end or crashed its tab;
   * that ended by themselves; were ended for their memory; did not answer any more; did not start.
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

/** Runs a phase and adds its time. */
export async function timed<T>(metrics: BrowserMetrics, phase: Phase, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work();
  } finally {
    metrics.phases[phase].count += 1;
    metrics.phases[phase].totalMs += performance.now() - startedAt;
  }
}
