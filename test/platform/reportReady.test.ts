import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { MEMORY_VARIABLES } from '../../dev/memoryVariables.ts';

/** A process that starts with 100 MB of what it does not need any more, and prints its memory in MB before and after a collection. */
const SCRIPT = `
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { reportReady } from './platform/reportReady.ts';
const megabytes = () => Math.round(process.memoryUsage().rss / 1e6);
let needed = Array.from({ length: 1e6 }, (_, index) => ({ index, text: 'started ' + index }));
globalThis.gc({ type: 'minor' });
globalThis.gc({ type: 'minor' });
needed = undefined;
const before = megabytes();
const collected = new Promise((resolve) => {
  new PerformanceObserver((list) => {
    if (list.getEntries().some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR)) resolve();
  }).observe({ entryTypes: ['gc'] });
});
reportReady();
const alive = setInterval(() => undefined, 1000);
await collected;
clearInterval(alive);
console.log(before - megabytes());
`;

test('a process soon releases the memory that only its start needed', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', SCRIPT], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: MEMORY_VARIABLES,
  });
  t.teardown(() => child.kill('SIGKILL'));
  const released = Number(await text(child.stdout));
  t.true(released > 80, `${released} MB`);
});
