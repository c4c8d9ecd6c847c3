import { setTimeout as sleep } from 'node:timers/promises';
import { makeAccount } from '../helpers/account.ts';
import type { Stack } from '../helpers/stack.ts';
import { measure } from './measure.ts';
import { ownedProcesses, readProc, shareOf } from './processes.ts';
import type { Sizes } from './sizes.ts';

/**
 * MB per process, including its child processes except Chromium, which is listed separately as `chromium` and not
 * included in `sum`.
 */
export type Memory = Record<string, number>;

/** Reads the memory of the processes of a stack. */
export function memoryOf(stack: Stack): Memory {
  const kilobytes = new Map(stack.names.map((name) => [name, 0]));
  let chromium = 0;
  for (const { pid, owner } of ownedProcesses(new Map(stack.names.map((name) => [stack.pid(name), name])))) {
    if (/^chrom/.test(readProc(`/proc/${pid}/comm`))) chromium += shareOf(pid);
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

/** Measures the memory of the local stack after a time without calls, and directly after many concurrent calls. */
export async function benchMemory(
  stack: Stack,
  { restMs, calls, concurrency }: Sizes['memory'],
): Promise<{ idle: Memory; loaded: Memory }> {
  await sleep(restMs);
  const idle = memoryOf(stack);
  const account = await makeAccount(stack, 1_000_000);
  await measure(calls, concurrency, async (index) => {
    const response = await account.call('hash-text', { text: `bench ${index}` });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  });
  return { idle, loaded: memoryOf(stack) };
}
