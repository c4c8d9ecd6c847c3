import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { createKeyring } from '../../store/keyring.ts';
import { createResults, mongodbPieces } from '../../store/results.ts';
import { openDatabases } from './ledgerFixtures.ts';

const MB = 1024 * 1024;

async function openResults() {
  await using open = new AsyncDisposableStack();
  const [store] = open.use(await openDatabases(1)).stores;
  if (store === undefined) throw new Error('no database');
  const results = createResults(mongodbPieces(store), createKeyring([{ id: 'a', bytes: randomBytes(32) }]));
  const opened = open.move();
  return { store, results, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const soon = () => new Date(Date.now() + 900_000);

test('a result is read back unchanged, whatever its size', async (t) => {
  await using opened = await openResults();
  const { results, store } = opened;
  for (const [size, pieces] of [
    [0, 1],
    [1, 1],
    [8 * MB, 1],
    [8 * MB + 1, 2],
    [20 * MB, 3],
  ] as const) {
    const callId = randomUUID();
    const data = randomBytes(size);
    const reference = await results.write(callId, data, soon());
    t.is(reference.pieces, pieces, `${size} bytes`);
    t.true((await results.read(callId, reference)).equals(data), `${size} bytes`);
    t.is(await store.results.countDocuments({ _id: { $regex: `^${reference.id}:` } }), pieces);
  }
});

test('results are encrypted in the database, which deletes them when they expire', async (t) => {
  await using opened = await openResults();
  const { results, store } = opened;
  const expiresAt = soon();
  const reference = await results.write('call-1', Buffer.from('a very readable result'), expiresAt);
  const row = await store.results.findOne({ _id: `${reference.id}:0` }, { promoteBuffers: true });
  t.false(Buffer.from(row?.data ?? []).includes('readable'));
  t.deepEqual(row?.expiresAt, expiresAt);
  const indexes = await store.results.indexes();
  t.like(
    indexes.find(({ key }) => 'expiresAt' in key),
    { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  );
});

test('a piece of a result that is missing, modified, swapped or from another call is refused', async (t) => {
  await using opened = await openResults();
  const { results, store } = opened;
  const reference = await results.write('call-1', randomBytes(8 * MB + 10), soon());
  const { id } = reference;
  await t.throwsAsync(results.read('call-2', reference), undefined, 'another call');
  await t.throwsAsync(results.read('call-1', { id, pieces: 1 }), undefined, 'truncated');
  await t.throwsAsync(results.read('call-1', { id, pieces: 3 }), undefined, 'longer than stored');

  const first = await store.results.findOne({ _id: `${id}:0` }, { promoteBuffers: true });
  const second = await store.results.findOne({ _id: `${id}:1` }, { promoteBuffers: true });
  if (first === null || second === null) return t.fail('not written');
  const put = (piece: number, data: Buffer) =>
    store.results.updateOne({ _id: `${id}:${piece}` }, { $set: { data } });
  await put(1, first.data);
  await t.throwsAsync(results.read('call-1', reference), undefined, 'swapped');
  const changed = Buffer.from(second.data);
  changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
  await put(1, changed);
  await t.throwsAsync(results.read('call-1', reference), undefined, 'one bit');
  await put(1, second.data);
  t.is((await results.read('call-1', reference)).length, 8 * MB + 10);
  await store.results.deleteOne({ _id: `${id}:1` });
  await t.throwsAsync(results.read('call-1', reference), { message: /is gone/ });
});

test('the results of two attempts of one call are never mixed', async (t) => {
  await using opened = await openResults();
  const { results } = opened;
  const [a, b] = [randomBytes(100), randomBytes(100)];
  const [first, second] = await Promise.all([
    results.write('call-1', a, soon()),
    results.write('call-1', b, soon()),
  ]);
  t.deepEqual(await results.read('call-1', first), a);
  t.deepEqual(await results.read('call-1', second), b);
});
