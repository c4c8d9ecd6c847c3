import './workflowGlobals.ts';
import { randomInt } from 'node:crypto';
import { openDatabases } from '../store/ledgerFixtures.ts';
import { playInMemory } from './explore.ts';

/*
 * Plays whole calls in random schedules under a virtual clock: API, workflow, ledger, sweeper and Temporal's failures, in any
 * order that a seed determines. Prints each schedule after which money or a hold is not where the contract says.
 *   npm run schedules -- [number of schedules] [seed of a single schedule to print]
 */

const [count = '1000', replayed] = process.argv.slice(2);
const MAX_FAILURES = 5;

await using databases = await openDatabases(1);
const [store] = databases.stores;
if (store === undefined) throw new Error('no database');
const endings = new Map<string, number>();
let played = 0;
let failures = 0;
for (; played < (replayed === undefined ? Number(count) : 1) && failures < MAX_FAILURES; played++) {
  const seed = replayed === undefined ? randomInt(1, 2 ** 31) : Number(replayed);
  const { faults, history, endings: ended } = await playInMemory(store, seed);
  for (const ending of ended) endings.set(ending, (endings.get(ending) ?? 0) + 1);
  if (faults.length > 0) failures++;
  if (faults.length > 0 || replayed !== undefined)
    console.log(`${seed}: ${faults.join('; ')}\n  ${history.join('\n  ')}`);
}
for (const [ending, calls] of [...endings].sort((a, b) => b[1] - a[1])) console.log(`${calls} ${ending}`);
console.log(`${played} schedules, ${failures} with faults`);
process.exitCode = failures > 0 ? 1 : 0;
