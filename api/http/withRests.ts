import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds of work before a rest, and the length of a rest as a multiple of the work. */
const WORK_MS = 5;
const RESTS = 2;

/**
 * Passes items on, with rests. What the consumer does with them then takes at most a third of this process's only thread, so that
 * other requests are answered in between; a client that reads slowly causes no rest.
 */
export async function* withRests<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  let since = performance.eventLoopUtilization();
  for await (const item of items) {
    yield item;
    const { active } = performance.eventLoopUtilization(since);
    if (active < WORK_MS) continue;
    await sleep(RESTS * active);
    since = performance.eventLoopUtilization();
  }
}
