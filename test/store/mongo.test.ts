import test from 'ava';
import { ensureIndexes, OBSOLETE_INDEXES } from '../../store/mongo/indexes.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';

test('options of the connection string do not weaken the concerns', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const url = new URL(mongodbUri);
  for (const [name, value] of [
    ['w', '1'],
    ['journal', 'false'],
    ['wTimeoutMS', '1'],
    ['readConcernLevel', 'local'],
    ['readPreference', 'secondaryPreferred'],
    ['retryWrites', 'false'],
    ['appName', 'kept'],
  ] as const)
    url.searchParams.set(name, value);
  const { client } = open.adopt(await openStore(url.href), (it) => it.close());
  const { writeConcern, readConcern, readPreference, retryWrites, appName, replicaSet } = client.options;
  t.is(writeConcern?.w, 'majority');
  t.true(writeConcern?.journal);
  t.is(writeConcern?.wtimeoutMS, undefined);
  t.is(readConcern?.level, 'majority');
  t.is(readPreference.mode, 'primary');
  t.true(retryWrites);
  t.is(appName, 'kept');
  t.truthy(replicaSet);
});

test('indexes of earlier versions are dropped, and no others', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const namesOf = async () => {
    const names: Record<string, string[]> = {};
    for (const { collectionName } of await store.db.collections())
      names[collectionName] = (await store.db.collection(collectionName).indexes())
        .map(({ name }) => name ?? '')
        .sort();
    return names;
  };
  await ensureIndexes(store);
  const current = await namesOf();
  for (const [collection, obsolete] of Object.entries(OBSOLETE_INDEXES))
    for (const name of obsolete) {
      // The default name of an index consists of its fields and directions.
      const fields = [...name.matchAll(/(\w+?)_(-?1)(?:_|$)/g)];
      const key = Object.fromEntries(fields.map(([, field = '', direction]) => [field, Number(direction)]));
      t.is(await store.db.collection(collection).createIndex(key), name);
    }
  // Also when several processes start at once.
  await Promise.all([ensureIndexes(store), ensureIndexes(store), ensureIndexes(store)]);
  t.deepEqual(await namesOf(), current);
});

test('a process can start while a transaction is open on every collection, as a killed process leaves one', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  await ensureIndexes(store);
  const collections = await store.db.collections();
  await store.transaction(async (session) => {
    for (const collection of collections)
      await collection.updateMany({ absent: true }, { $set: { changed: true } }, { session });
    // A command that needs a lock on a whole collection would wait for this transaction until its timeout.
    await t.notThrowsAsync(ensureIndexes(store));
  });
  t.true(collections.length > Object.keys(OBSOLETE_INDEXES).length);
});
