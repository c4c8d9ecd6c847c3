import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { createResults, mongodbPieces } from '../../store/calls/results.ts';
import { bytesOf, createJobStorage, JOBS_KB } from '../../store/jobs/storedBytes.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';

const LIMIT = { rate: 20, burst: 40 };
const KB = 1024;

let database: Awaited<ReturnType<typeof startDatabase>>;
let store: Store;

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

test('what jobs store is limited for each account and for all together', async (t) => {
  const storage = createJobStorage(store, LIMIT);
  const [one, other] = [randomUUID(), randomUUID()];
  await storage.add(one, (JOBS_KB.account - 1) * KB);
  t.is(await storage.isFull(one), null);
  await storage.add(one, 1);
  t.true((await storage.isFull(one)) !== null);
  t.is(await storage.isFull(other), null);
  await storage.add(randomUUID(), JOBS_KB.installation * KB);
  const seconds = (await storage.isFull(other)) ?? 0;
  t.true(seconds > 0 && seconds <= 72 * 3600);
});

test('without limits, nothing is counted', async (t) => {
  const storage = createJobStorage(store, null);
  const id = randomUUID();
  await storage.add(id, JOBS_KB.account * KB);
  t.is(await storage.isFull(id), null);
});

test('the bytes of a result are those of all its pieces', async (t) => {
  const results = createResults(
    mongodbPieces(store),
    createKeyring([{ id: 'a', bytes: Buffer.alloc(32, 1) }]),
  );
  const data = Buffer.alloc(9 * 1024 * 1024, 1);
  const reference = await results.write('call', data, new Date(Date.now() + 60_000));
  t.is(reference.pieces, 2);
  const stored = await bytesOf(store, reference);
  t.true(stored > data.length && stored < data.length + KB);
});
