import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { until } from './until.ts';

/** Milliseconds for which the tool works before its thread is terminated. */
const WORK_MS = 300;

const RUN = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData.module).then(({ run }) => {
  parentPort.postMessage('started');
  return run(workerData.input);
}).then(() => parentPort.postMessage('finished'));`;

/**
 * Runs a tool in a new thread and terminates the thread while the tool works, as a pool does with a call that was
 * cancelled or has exceeded its deadline.
 *
 * @param input validated input, expensive enough to run for more than 300 ms
 * @returns what the thread has reported when it has ended: `started`, and `finished` if the tool was not interrupted
 */
export async function killDuringWork(tool: string, input: Record<string, unknown>): Promise<string[]> {
  const module = new URL(`../../activities/tools/${tool}.ts`, import.meta.url).href;
  const worker = new Worker(RUN, { eval: true, workerData: { module, input } });
  try {
    const reports: string[] = [];
    const busyMs = () => worker.performance.eventLoopUtilization().active;
    let begunMs = Infinity;
    worker.on('message', (report: string) => {
      reports.push(report);
      begunMs = Math.min(begunMs, busyMs());
    });
    await until('the tool works', async () => busyMs() > begunMs + WORK_MS);
    await worker.terminate();
    return reports;
  } finally {
    await worker.terminate();
  }
}

const RUN_WITHOUT = `
const { registerHooks } = require('node:module');
const { parentPort, workerData } = require('node:worker_threads');
let missed = 0;
registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== workerData.missing) return next(specifier, context);
    missed++;
    throw Object.assign(new Error('not installed'), { code: 'ERR_MODULE_NOT_FOUND' });
  },
});
import(workerData.module)
  .then(({ default: job }) => job(workerData.input))
  .then((output) => parentPort.postMessage({ output, missed }));`;

/**
 * Runs a job of `activities/jobs/` as if a package were not installed.
 *
 * @returns the job's output, and how often the job tried to load the package
 */
export async function runJobWithout<O>(
  missing: string,
  job: string,
  input: unknown,
): Promise<{ output: O; missed: number }> {
  const module = new URL(`../../activities/jobs/${job}.ts`, import.meta.url).href;
  const worker = new Worker(RUN_WITHOUT, { eval: true, workerData: { missing, module, input } });
  try {
    const [answer] = await once(worker, 'message');
    return answer;
  } finally {
    await worker.terminate();
  }
}
