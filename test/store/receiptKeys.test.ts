import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { ensureIndexes } from '../../store/mongo/indexes.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { countReceiptKeys, rewrapReceiptKeys } from '../../store/receipts/privateKeys.ts';
import {
  addReceiptKey,
  chooseKey,
  listReceiptKeys,
  openReceiptKeys,
  revokeReceiptKey,
} from '../../store/receipts/receiptKeys.ts';
import { startDatabase } from '../helpers/stack.ts';

let store: Store;
let database: Awaited<ReturnType<typeof startDatabase>>;

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri);
  await ensureIndexes(store);
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

const MINUTE_MS = 60_000;

test.serial('of processes that start at the same time, one creates the key', async (t) => {
  const keyring = createKeyring([{ id: 'k1', bytes: randomBytes(32) }]);
  for (let round = 0; round < 20; round++) {
    await store.receiptKeys.deleteMany({});
    await Promise.all(Array.from({ length: 5 }, () => openReceiptKeys(store, keyring)));
    t.is((await listReceiptKeys(store)).length, 1);
  }
  await store.receiptKeys.deleteMany({});
});

test('keys are rotated, revoked and re-encrypted, and the digests of earlier calls stay provable', async (t) => {
  const old = { id: 'k1', bytes: randomBytes(32) };
  const keyring = createKeyring([old]);
  const keys = await openReceiptKeys(store, keyring);
  const [first] = await listReceiptKeys(store);
  if (first === undefined) return t.fail();
  const digestKeys = keys.digestKeysOf('call');
  t.not(digestKeys.input, digestKeys.output);
  t.notDeepEqual(keys.digestKeysOf('other'), digestKeys);

  const second = await addReceiptKey(store, keyring);
  t.deepEqual(
    (await keys.published()).map(({ _id }) => _id),
    [first._id, second._id],
  );
  t.is((await keys.signingKey()).id, first._id);
  const later = (minutes: number) => new Date(second.createdAt.getTime() + minutes * MINUTE_MS);
  t.is(chooseKey([first, second], later(9))._id, first._id);
  t.is(chooseKey([first, second], later(10))._id, second._id);

  t.true(await revokeReceiptKey(store, first._id));
  t.false(await revokeReceiptKey(store, 'unknown'));
  t.is((await keys.signingKey()).id, second._id);
  t.deepEqual(
    (await keys.published()).map(({ _id }) => _id),
    [second._id],
  );

  const both = createKeyring([{ id: 'k2', bytes: randomBytes(32) }, old]);
  t.is(await rewrapReceiptKeys(store, both), 2);
  t.is(await rewrapReceiptKeys(store, both), 0);
  t.deepEqual([...(await countReceiptKeys(store, both))], [['k2', 2]]);
  const reopened = await openReceiptKeys(store, both);
  t.is(reopened.digestKeysOf('call').number, second.number);
  t.deepEqual(await reopened.findDigestKeys('call', first.number), digestKeys);

  t.true(await revokeReceiptKey(store, second._id));
  const { id } = await reopened.signingKey();
  t.false([first._id, second._id].includes(id), 'a new key is created if none is left');
});
