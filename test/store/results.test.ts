import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import {
  createCallContents,
  type EndedCall,
  KEPT_BYTES,
  KEPT_CALLS,
  WAITING_CHARACTERS,
} from '../../store/calls/callContents.ts';
import { createResults, mongodbPieces } from '../../store/calls/results.ts';
import { interceptStore } from './intercept.ts';
import { openDatabases } from './ledgerFixtures.ts';

const MB = 1024 * 1024;

async function openResults() {
  await using open = new AsyncDisposableStack();
  const [store] = open.use(await openDatabases(1)).stores;
  if (store === undefined) throw new Error('no database');
  const keyring = createKeyring([{ id: 'a', bytes: randomBytes(32) }]);
  const results = createResults(mongodbPieces(store), keyring);
  const opened = open.move();
  return { store, keyring, results, [Symbol.asyncDispose]: () => opened.disposeAsync() };
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

const ended = (accountId: string, more: Partial<EndedCall> = {}): EndedCall => ({
  callId: randomUUID(),
  accountId,
  input: { text: 'readable' },
  hadSecrets: false,
  ending: { json: '{"hash":"readable"}' },
  ...more,
});

test('the content of a call is encrypted, expires after a day, and belongs to its call and account', async (t) => {
  await using opened = await openResults();
  const { store, keyring } = opened;
  const contents = createCallContents(store, keyring, (error) => t.fail(String(error)));
  const { _id: accountId } = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: 0,
  });
  await contents.setKeeping(accountId, true);
  const calls = [
    ended(accountId),
    ended(accountId, { ending: { json: 'x'.repeat(KEPT_BYTES + 1) } }),
    ended(accountId, { ending: { error: { code: 'internal' } } }),
    ended(accountId, { hadSecrets: true }),
  ];
  await Promise.all(calls.map(contents.keep));
  const kept = await Promise.all(calls.map(({ callId }) => contents.find(accountId, callId)));
  t.deepEqual(
    kept.map((content) => content?.output),
    [
      { json: '{"hash":"readable"}', isError: false },
      { omitted: 'large' },
      { json: '{"code":"internal"}', isError: true },
      { omitted: 'secret' },
    ],
  );
  const rows = await store.callContents.find({}, { promoteBuffers: true }).toArray();
  for (const { sealed, expiresAt } of rows) {
    t.false(sealed.includes('readable'));
    t.true(Math.abs(expiresAt.getTime() - Date.now() - 86_400_000) < 60_000);
  }
  const indexes = await store.callContents.indexes();
  t.true(indexes.some(({ key, expireAfterSeconds }) => key.expiresAt === 1 && expireAfterSeconds === 0));
  const [first, second] = calls;
  t.is(await contents.find('acc_other', first?.callId ?? ''), null);
  const moved = await store.callContents.findOne({ _id: first?.callId ?? '' }, { promoteBuffers: true });
  await store.callContents.updateOne(
    { _id: second?.callId ?? '' },
    { $set: { sealed: moved?.sealed ?? Buffer.of() } },
  );
  await t.throwsAsync(contents.find(accountId, second?.callId ?? ''), undefined, 'of another call');
});

test('no content outlives keeping, whenever it is switched off or the process ends, and only the newest are kept', async (t) => {
  await using opened = await openResults();
  const { store, keyring } = opened;
  const plain = createCallContents(store, keyring, (error) => t.fail(String(error)));
  const { _id: accountId } = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: 0,
  });
  const atStep = async (step: number, act: () => Promise<void>): Promise<number> => {
    await plain.setKeeping(accountId, true);
    let steps = 0;
    const intercepted = interceptStore(store, async (_name, run) => {
      if (steps++ === step) await act();
      return run();
    });
    const contents = createCallContents(intercepted, keyring, () => undefined);
    await contents.keep(ended(accountId));
    return steps;
  };
  const steps = await atStep(-1, async () => undefined);
  t.true(steps >= 4, `${steps} operations`);
  for (let step = 0; step < steps; step++) {
    await atStep(step, () => plain.setKeeping(accountId, false));
    t.is(await store.callContents.countDocuments(), 0, `switched off before operation ${step}`);
  }
  // The operations before the confirmation: an insert and a read.
  for (const step of [1, 2]) {
    await atStep(step, () => Promise.reject(new Error('the process ends')));
    const [row] = await store.callContents.find().toArray();
    t.true((row?.expiresAt.getTime() ?? Number.POSITIVE_INFINITY) < Date.now() + 61_000);
    await plain.setKeeping(accountId, false);
  }

  await plain.setKeeping(accountId, true);
  await store.callContents.insertMany(
    Array.from({ length: KEPT_CALLS }, (_, age) => ({
      _id: `old-${age}`,
      accountId,
      sealed: Buffer.of(),
      expiresAt: new Date(Date.now() + 3_600_000 - age),
    })),
  );
  const newest = ended(accountId);
  await plain.keep(newest);
  t.is(await store.callContents.countDocuments(), KEPT_CALLS);
  t.is(await store.callContents.countDocuments({ _id: { $in: [newest.callId, 'old-0'] } }), 2);
  t.is(await store.callContents.countDocuments({ _id: `old-${KEPT_CALLS - 1}` }), 0);
});

test('while the database is slow, large inputs are dropped at once and further contents are left out and counted', async (t) => {
  await using opened = await openResults();
  const { store, keyring } = opened;
  const { _id: accountId } = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: 0,
  });
  const gate = Promise.withResolvers<void>();
  const slow = interceptStore(store, async (_name, run) => {
    await gate.promise;
    return run();
  });
  const reports: number[] = [];
  const contents = createCallContents(
    slow,
    keyring,
    (error) => t.fail(String(error)),
    (calls) => reports.push(calls),
  );
  await createCallContents(store, keyring, (error) => t.fail(String(error))).setKeeping(accountId, true);
  const withText = (length: number) => ended(accountId, { input: { html: 'x'.repeat(length) } });
  const large = Array.from({ length: 100 }, () => withText(5_000_000));
  const medium = Array.from({ length: 20 }, () => withText(400_000));
  const keeping = [...large, ...medium].map(contents.keep);
  t.deepEqual(reports, []);
  gate.resolve();
  await Promise.all(keeping);

  const inputsOf = async (calls: EndedCall[]) => {
    const found = await Promise.all(calls.map(({ callId }) => contents.find(accountId, callId)));
    return found.filter((content) => content !== null).map(({ input }) => input);
  };
  t.deepEqual(await inputsOf(large), Array(100).fill({ omitted: 'large' }));
  const kept = await inputsOf(medium);
  t.true(kept.length > 0 && kept.length * 400_000 <= WAITING_CHARACTERS, `${kept.length} kept`);
  t.true(kept.every((input) => 'json' in input && input.json.length > 400_000));
  t.deepEqual(reports, [medium.length - kept.length]);
  // Later contents are kept again.
  const later = withText(400_000);
  await contents.keep(later);
  t.is((await inputsOf([later])).length, 1);
});
