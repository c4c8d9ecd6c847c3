import './workflowGlobals.ts';
import test from 'ava';
import type { Store } from '../../store/mongo/mongo.ts';
import { seededRandom } from '../helpers/random.ts';
import { openDatabases } from '../store/ledgerFixtures.ts';
import { playInMemory, playInMongodb } from './explore.ts';
import type { Played } from './playCalls.ts';

/** Number of schedules in memory. Every hundredth is played on MongoDB too, up to a limit. */
const SCHEDULES = Number(process.env.TEST_CALL_SCHEDULES ?? 300);
const ON_MONGODB = Math.min(200, Math.ceil(SCHEDULES / 100));
/** Seed of a single schedule to play again, with all its steps. */
const REPLAY = process.env.TEST_CALL_SCHEDULE;
const MAX_FAILURES = 5;
/** Number of schedules from which every way in which a call can end has certainly occurred. */
const MANY = 5000;
/** Every way in which a call can end. */
const ENDINGS = [
  'charged, arrived',
  'charged, error',
  'charged, nothing arrived',
  'charged and returned, error',
  'charged and returned, nothing arrived',
  'refunded, error',
  'refunded, nothing arrived',
  'refused, error',
  'refused, nothing arrived',
];

const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;

/** The steps of a schedule, with the ids of calls numbered. */
function stepsOf({ history }: Played): string[] {
  const ids = new Map<string, string>();
  return history.map((step) =>
    step.replace(UUID, (id) => {
      const known = ids.get(id) ?? `call ${ids.size}`;
      ids.set(id, known);
      return known;
    }),
  );
}

async function withStore<T>(use: (store: Store) => Promise<T>): Promise<T> {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  return await use(store);
}

test('whatever fails and in whatever order: every call is charged once or not at all, what did not arrive is returned within a minute, and nothing stays held', async (t) => {
  t.timeout(SCHEDULES * 100 + 300_000);
  const random = seededRandom((line) => t.log(line));
  await withStore(async (store) => {
    const endings = new Map<string, number>();
    const started = process.cpuUsage();
    let played = 0;
    let failures = 0;
    for (; played < (REPLAY === undefined ? SCHEDULES : 1) && failures < MAX_FAILURES; played++) {
      const seed = REPLAY === undefined ? random.integer(1, 2 ** 31) : Number(REPLAY);
      const { faults, history, endings: ended } = await playInMemory(store, seed);
      for (const ending of ended) endings.set(ending, (endings.get(ending) ?? 0) + 1);
      if (faults.length === 0) continue;
      failures++;
      t.fail(`TEST_CALL_SCHEDULE=${seed}: ${faults.join('; ')}\n${history.join('\n')}`);
    }
    const { user, system } = process.cpuUsage(started);
    t.log(`${played} schedules in ${((user + system) / 1e6).toFixed(0)} s of one core`);
    for (const [ending, count] of [...endings].sort((a, b) => b[1] - a[1])) t.log(`${count} ${ending}`);
    t.is(failures, 0);
    if (played >= MANY)
      t.deepEqual(
        ENDINGS.filter((ending) => !endings.has(ending)),
        [],
        'every way in which a call can end occurs',
      );
  });
});

test('the same schedules on MongoDB have the same steps and ends as in memory', async (t) => {
  t.timeout(300_000);
  const random = seededRandom((line) => t.log(line));
  await withStore(async (store) => {
    for (let count = ON_MONGODB; count > 0; count--) {
      const seed = random.integer(1, 2 ** 31);
      const inMemory = await playInMemory(store, seed);
      const inMongodb = await playInMongodb(store, seed);
      t.deepEqual(stepsOf(inMongodb), stepsOf(inMemory), `TEST_CALL_SCHEDULE=${seed}`);
      t.deepEqual(inMongodb.endings.toSorted(), inMemory.endings.toSorted());
      t.deepEqual(inMongodb.faults, []);
    }
  });
});
