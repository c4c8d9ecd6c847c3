import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

/** Milliseconds that the event loop of a process came late. */
export interface LoopDelay {
  p50: number;
  p99: number;
  max: number;
}

/** Whole timer intervals are recorded, so this is taken off again. */
const RESOLUTION_MS = 2;
const folder = process.env.BENCH_LOOP_DIR;

// Loaded before a process of the service: at SIGUSR2 it writes what it has seen to <folder>/<pid>, and begins anew.
if (isMainThread && folder !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION_MS);
  process.on('SIGUSR2', () => {
    const seen: LoopDelay = {
      p50: late(delay.percentile(50)),
      p99: late(delay.percentile(99)),
      max: late(delay.max),
    };
    writeFileSync(join(folder, String(process.pid)), JSON.stringify(seen));
    delay.reset();
  });
}
