import test from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createApiKeys, generateKey, isWellFormedKey } from '../../store/keys/apiKeys.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { seededRandom } from '../helpers/random.ts';
import { startDatabase } from '../helpers/stack.ts';
import vectors from '../vectors/api-keys.json' with { type: 'json' };

const ALPHABET = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];

test('API keys whose checksum another implementation computed are well formed', (t) => {
  for (const key of vectors.keys) t.true(isWellFormedKey(key), key);
});

test('new API keys are well formed and unique', (t) => {
  const keys = Array.from({ length: 1000 }, generateKey);
  for (const key of keys) {
    t.regex(key, /^ut_[0-9A-Za-z]{36}$/);
    t.true(isWellFormedKey(key), key);
  }
  t.is(new Set(keys).size, keys.length);
});

test('every single wrong character is detected', (t) => {
  const [key = ''] = vectors.keys.slice(-1);
  for (let at = 3; at < key.length; at++)
    for (const character of ALPHABET) {
      if (character === key[at]) continue;
      const wrong = key.slice(0, at) + character + key.slice(at + 1);
      if (isWellFormedKey(wrong)) t.fail(wrong);
    }
  t.true(isWellFormedKey(key));
});

test('transposed neighbouring characters are detected', (t) => {
  const missed: string[] = [];
  for (const key of vectors.keys)
    for (let at = 3; at + 1 < key.length; at++) {
      if (key[at] === key[at + 1]) continue;
      const wrong = key.slice(0, at) + key[at + 1] + key[at] + key.slice(at + 2);
      if (isWellFormedKey(wrong)) missed.push(wrong);
    }
  t.deepEqual(missed, []);
});

test('text that only resembles a key is rejected', (t) => {
  const [key = ''] = vectors.keys;
  const fakes = [
    '',
    'ut_',
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key}\n`,
    key.replace('ut_', 'UT_'),
    key.replace('ut_', 'ut-'),
  ];
  for (const fake of fakes) t.false(isWellFormedKey(fake), JSON.stringify(fake));
});

test('random text in the format of an API key practically never has a valid checksum', (t) => {
  const random = seededRandom((line) => t.log(line));
  const accepted = Array.from({ length: 20_000 }, () =>
    Array.from({ length: 36 }, () => random.pick(ALPHABET)).join(''),
  ).filter((text) => isWellFormedKey(`ut_${text}`));
  t.deepEqual(accepted, []);
});

test('an API key is valid until it expires or is revoked, and only its hash is stored', async (t) => {
  await using open = new AsyncDisposableStack();
  const database = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(database.mongodbUri), (it) => it.close());
  const account = await createAccounts(store).create({ email: 'keys@example.com', credits: 0 });
  const apiKeys = createApiKeys(store, (error) => t.fail(String(error)));
  open.defer(() => apiKeys.flush());
  const common = { accountId: account._id, name: 'n', scope: 'tools', tools: null } as const;
  const live = await apiKeys.create({ ...common, expiresAt: null });
  const expired = await apiKeys.create({ ...common, expiresAt: new Date(Date.now() - 1) });
  t.is((await apiKeys.authenticate(live.key))?.key._id, live.row._id);
  t.is(await apiKeys.authenticate(expired.key), null);
  t.is(await apiKeys.authenticate(generateKey()), null);
  t.false(JSON.stringify(await store.apiKeys.find().toArray()).includes(live.key.slice(12)));
  t.is(live.row.prefix, live.key.slice(0, 9));

  await apiKeys.revoke(account._id, live.row._id);
  await apiKeys.revoke(account._id, live.row._id);
  t.is(await apiKeys.authenticate(live.key), null);
  const events = await store.events.find({ event: 'api_key.revoked' }).toArray();
  t.deepEqual(
    events.map(({ data }) => data),
    [{ keyId: live.row._id, name: 'n', prefix: live.row.prefix }],
  );
  await t.throwsAsync(apiKeys.revoke('acc_other', live.row._id), { code: 'not_found' });
});

test('after a rotation both secrets are valid until the overlap ends, then only the new one, and none after a revocation', async (t) => {
  await using open = new AsyncDisposableStack();
  const database = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(database.mongodbUri), (it) => it.close());
  const { _id: accountId } = await createAccounts(store).create({ email: 'rotate@example.com', credits: 0 });
  const apiKeys = createApiKeys(store, (error) => t.fail(String(error)));
  const first = await apiKeys.create({ accountId, name: 'n', scope: 'tools', tools: null, expiresAt: null });
  const id = first.row._id;
  const prefixes = (...keys: string[]) =>
    Promise.all(keys.map(async (key) => (await apiKeys.authenticate(key))?.key.prefix ?? null));
  const overlapEnds = () =>
    store.apiKeys.updateOne({ _id: id }, { $set: { 'previous.expiresAt': new Date(Date.now() - 1) } });
  const rotate = (overlapMs: number, force = false) => apiKeys.rotate(accountId, id, { overlapMs, force });

  const second = await rotate(60_000);
  t.is(second.row._id, id);
  t.deepEqual(await prefixes(first.key, second.key), [first.row.prefix, second.row.prefix]);
  const stored = JSON.stringify(await store.apiKeys.find().toArray());
  for (const { key } of [first, second]) t.false(stored.includes(key.slice(12)));
  await t.throwsAsync(rotate(60_000), { message: /earlier rotation/ });

  // Replaces the new secret; the old one stays valid.
  const third = await rotate(60_000, true);
  t.deepEqual(await prefixes(first.key, second.key, third.key), [first.row.prefix, null, third.row.prefix]);
  await overlapEnds();
  t.deepEqual(await prefixes(first.key, third.key), [null, third.row.prefix]);

  const fourth = await rotate(0);
  t.deepEqual(await prefixes(third.key, fourth.key), [null, fourth.row.prefix]);
  const fifth = await rotate(60_000);
  t.deepEqual(await prefixes(fourth.key, fifth.key), [fourth.row.prefix, fifth.row.prefix]);

  await apiKeys.revoke(accountId, id);
  t.deepEqual(await prefixes(fourth.key, fifth.key), [null, null]);
  await t.throwsAsync(rotate(60_000, true), { message: /revoked/ });
  await t.throwsAsync(apiKeys.change(accountId, id, { dailyBudget: 5 }), { message: /revoked/ });
  const events = await store.events.find({ event: 'api_key.rotated' }).toArray();
  t.deepEqual(
    events.map(({ data }) => data.prefix).sort(),
    [second, third, fourth, fifth].map(({ row }) => row.prefix).sort(),
  );
});

test('of concurrent rotations one succeeds', async (t) => {
  await using open = new AsyncDisposableStack();
  const database = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(database.mongodbUri), (it) => it.close());
  const { _id: accountId } = await createAccounts(store).create({ email: 'race@example.com', credits: 0 });
  const apiKeys = createApiKeys(store, (error) => t.fail(String(error)));
  const { row } = await apiKeys.create({
    accountId,
    name: 'n',
    scope: 'tools',
    tools: null,
    expiresAt: null,
  });
  const rotations = await Promise.allSettled(
    Array.from({ length: 5 }, () => apiKeys.rotate(accountId, row._id, { overlapMs: 60_000, force: false })),
  );
  t.is(rotations.filter(({ status }) => status === 'fulfilled').length, 1);
});

test('the spend of keys that ended long ago is removed when another key is created', async (t) => {
  await using open = new AsyncDisposableStack();
  const database = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(database.mongodbUri), (it) => it.close());
  const { _id: accountId } = await createAccounts(store).create({ email: 'prune@example.com', credits: 0 });
  const apiKeys = createApiKeys(store, (error) => t.fail(String(error)));
  const create = async () =>
    (await apiKeys.create({ accountId, name: 'n', scope: 'tools', tools: null, expiresAt: null })).row._id;
  const [live, justRevoked, revoked, expired, connection, oldConnection] = [
    await create(),
    await create(),
    await create(),
    await create(),
    await create(),
    await create(),
  ];
  const hourAgo = new Date(Date.now() - 3_600_000);
  await store.apiKeys.updateOne({ _id: justRevoked }, { $set: { revokedAt: new Date() } });
  await store.apiKeys.updateOne({ _id: revoked }, { $set: { revokedAt: hourAgo } });
  await store.apiKeys.updateOne({ _id: expired }, { $set: { expiresAt: hourAgo } });
  // The owner can connect the client of an expired connection again, within the same monthly budget.
  const longAgo = new Date(Date.now() - 33 * 86_400_000);
  for (const [id, expiresAt] of [
    [connection, hourAgo],
    [oldConnection, longAgo],
  ] as const)
    await store.apiKeys.updateOne({ _id: id }, { $set: { expiresAt, client: { id, account: false } } });
  const spend = { day: hourAgo, inDay: 3, month: hourAgo, inMonth: 4 };
  const ids = [live, justRevoked, revoked, expired, connection, oldConnection];
  const all = Object.fromEntries(ids.map((id) => [id, spend]));
  await store.accounts.updateOne({ _id: accountId }, { $set: { keySpend: all } });
  await create();
  const account = await store.accounts.findOne({ _id: accountId });
  t.deepEqual(account?.keySpend, { [live]: spend, [justRevoked]: spend, [connection]: spend });
});

test('the 51st valid API key is refused, also under concurrency; revoking a key makes room for a new one', async (t) => {
  await using open = new AsyncDisposableStack();
  const database = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(database.mongodbUri), (it) => it.close());
  const account = await createAccounts(store).create({ email: 'many@example.com', credits: 0 });
  const apiKeys = createApiKeys(store, (error) => t.fail(String(error)));
  const create = () =>
    apiKeys.create({ accountId: account._id, name: 'n', scope: 'tools', tools: null, expiresAt: null });
  const made = [];
  for (let i = 0; i < 47; i++) made.push(await create());
  const rest = await Promise.allSettled(Array.from({ length: 6 }, create));
  t.is(rest.filter(({ status }) => status === 'fulfilled').length, 3);
  await t.throwsAsync(create(), { message: /50 live keys/ });
  await apiKeys.revoke(account._id, made[0]?.row._id ?? '');
  await create();
  t.is(await store.apiKeys.countDocuments({ revokedAt: null }), 50);
});

test('an account keeps its newest 200 keys that can no longer be used', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const keys = createApiKeys(store, (error) => t.fail(String(error)));
  const { _id: accountId } = await createAccounts(store).create({ email: 'keys@example.com', credits: 0 });
  const newKey = { accountId, name: 'key', scope: 'tools', tools: null, expiresAt: null } as const;
  const { row } = await keys.create(newKey);
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  const dead = Array.from({ length: 210 }, (_, i) => ({
    ...row,
    _id: `key_${i}`,
    hash: `hash ${i}`,
    createdAt: minutesAgo(100 + i),
    ...(i % 2 === 0 ? { revokedAt: minutesAgo(60) } : { expiresAt: minutesAgo(60) }),
  }));
  const justRevoked = {
    ...row,
    _id: 'key_new',
    hash: 'hash',
    createdAt: minutesAgo(9000),
    revokedAt: new Date(),
  };
  await store.apiKeys.insertMany([...dead, justRevoked]);
  await keys.create(newKey);
  t.is(await store.apiKeys.countDocuments({ accountId }), 200 + 3);
  t.is(await store.apiKeys.countDocuments({ _id: { $in: ['key_0', 'key_199', 'key_new', row._id] } }), 4);
  t.is(await store.apiKeys.countDocuments({ _id: 'key_200' }), 0);
});
