import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** Delay of a process's event loop, in milliseconds. */
export interface LoopDelay {
  p50: number;
  p99: number;
  max: number;
}

/**
 * Timer interval of the histogram in milliseconds. The histogram records the interval plus the delay, so the interval
 * is subtracted.
 */
const RESOLUTION_MS = 2;
const folder = process.env.BENCH_LOOP_DIR;

// The benchmark loads this module into the processes of the service with --import. On SIGUSR2 a process begins to measure; on the
// next one it ends and writes its histogram to <folder>/<pid>. Its timer would slow down everything that is measured beside it.
if (isMainThread && folder !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  let isMeasuring = false;
  process.on('SIGUSR2', () => {
    isMeasuring = !isMeasuring;
    if (isMeasuring) {
      delay.reset();
      delay.enable();
      return;
    }
    delay.disable();
    const recorded: LoopDelay = {
      p50: late(delay.percentile(50)),
      p99: late(delay.percentile(99)),
      max: late(delay.max),
    };
    writeFileSync(join(folder, String(process.pid)), JSON.stringify(recorded));
  });
}
