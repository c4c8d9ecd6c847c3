/** Milliseconds of each run, and runs a second over all. */
export interface Measured {
  p50: number;
  p95: number;
  perSecond: number;
}

/** Runs `work` so many times, so many at once. */
export async function measure(
  times: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<Measured> {
  const took: number[] = [];
  const began = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let index = next++; index < times; index = next++) {
        const start = performance.now();
        await work(index);
        took.push(performance.now() - start);
      }
    }),
  );
  const perSecond = (times / (performance.now() - began)) * 1000;
  took.sort((a, b) => a - b);
  const at = (quantile: number) =>
    took[Math.min(took.length - 1, Math.floor(took.length * quantile))] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), perSecond };
}
