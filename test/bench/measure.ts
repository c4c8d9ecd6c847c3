import { setTimeout as sleep } from 'node:timers/promises';

/** Percentiles of the duration of one run of the work in milliseconds, and runs per second. */
export interface Measured {
  p50: number;
  p95: number;
  perSecond: number;
}

/**
 * Runs `work` the given number of times with the given concurrency and measures it.
 *
 * @param pauseMs time after each run, which is not part of its duration
 */
export async function measure(
  times: number,
  concurrency: number,
  work: (index: number) => Promise<unknown>,
  pauseMs = 0,
): Promise<Measured> {
  const durations: number[] = [];
  const began = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (let index = next++; index < times; index = next++) {
        const start = performance.now();
        await work(index);
        durations.push(performance.now() - start);
        if (pauseMs > 0) await sleep(pauseMs);
      }
    }),
  );
  const perSecond = (times / (performance.now() - began)) * 1000;
  durations.sort((a, b) => a - b);
  const at = (quantile: number) =>
    durations[Math.min(durations.length - 1, Math.floor(durations.length * quantile))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), perSecond };
}
