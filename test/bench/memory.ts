import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeAccount } from '../helpers/account.ts';
import type { Stack } from '../helpers/stack.ts';
import { measure } from './measure.ts';

/** Time for the processes to release memory that only their start needed. */
const REST_MS = 60_000;
const CALLS = 320;
const CONCURRENCY = 32;

/** MB per process, including its child processes except Chromium. `chromium` is listed separately and not part of `sum`. */
export type Memory = Record<string, number>;

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}

/** Returns the proportional set size in kB, which counts shared memory once over all processes. */
const shareOf = (pid: number): number =>
  Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);

function memoryOf(stack: Stack): Memory {
  const owners = new Map(stack.names.map((name) => [stack.pid(name), name]));
  const pids = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  const parents = new Map(
    pids.map((pid) => [pid, Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1])]),
  );
  const ownerOf = (pid: number): string | undefined => {
    for (let at: number | undefined = pid; at !== undefined && at > 0; at = parents.get(at)) {
      const owner = owners.get(at);
      if (owner !== undefined) return owner;
    }
    return undefined;
  };
  const kilobytes = new Map(stack.names.map((name) => [name, 0]));
  let chromium = 0;
  for (const pid of pids) {
    const owner = ownerOf(pid);
    if (owner === undefined) continue;
    if (/^chrom/.test(read(`/proc/${pid}/comm`))) chromium += shareOf(pid);
    else kilobytes.set(owner, (kilobytes.get(owner) ?? 0) + shareOf(pid));
  }
  const sum = [...kilobytes.values()].reduce((all, one) => all + one, 0);
  return Object.fromEntries(
    [...kilobytes, ['sum', sum] as const, ['chromium', chromium] as const].map(([name, size]) => [
      name,
      Math.round(size / 1024),
    ]),
  );
}

/** Measures the memory of the local stack after a minute without calls, and right after many concurrent calls. */
export async function benchMemory(stack: Stack): Promise<{ idle: Memory; loaded: Memory }> {
  await sleep(REST_MS);
  const idle = memoryOf(stack);
  const account = await makeAccount(stack, 1_000_000);
  await measure(CALLS, CONCURRENCY, async (index) => {
    const response = await account.call('hash-text', { text: `bench ${index}` });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  });
  return { idle, loaded: memoryOf(stack) };
}
