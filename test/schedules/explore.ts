import './workflowGlobals.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { VirtualClock } from './clock.ts';
import { storeAt } from './databaseTime.ts';
import { memoryStore } from './memory.ts';
import { type Played, playCalls } from './playCalls.ts';

/** When all schedules begin: at noon, in the middle of a month, and before any expiry that MongoDB applies. */
const BEGIN = Date.UTC(2100, 4, 12, 12);

/** Plays a schedule on a database in memory. @param store a connection to MongoDB, of which only the types are used */
export function playInMemory(store: Store, seed: number): Promise<Played> {
  const clock = new VirtualClock(BEGIN);
  return playCalls(
    memoryStore(store, () => new Date(clock.now)),
    clock,
    seed,
  );
}

/** Plays a schedule on MongoDB, and deletes what it left. */
export async function playInMongodb(store: Store, seed: number): Promise<Played> {
  const clock = new VirtualClock(BEGIN);
  const timed = storeAt(store, () => new Date(clock.now));
  try {
    return await playCalls(timed, clock, seed);
  } finally {
    const { accounts, apiProcesses, calls, entries, events, grants, jobs, notices, topUpRuns } = store;
    const used = [accounts, apiProcesses, calls, entries, events, grants, jobs, notices, topUpRuns];
    await Promise.all(used.map((collection) => collection.deleteMany({})));
  }
}

/** A schedule that violates an invariant. */
export interface Failed {
  seed: number;
  faults: string[];
}

/** Plays the schedules of these seeds in memory, until one violates an invariant. */
export async function findFault(store: Store, seeds: Iterable<number>): Promise<Failed | null> {
  for (const seed of seeds) {
    const { faults } = await playInMemory(store, seed).catch((error: unknown) => ({ faults: [`${error}`] }));
    if (faults.length > 0) return { seed, faults };
  }
  return null;
}
