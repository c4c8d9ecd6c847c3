import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createCalls } from '../../store/calls/calls.ts';
import { createResults, mongodbPieces } from '../../store/calls/results.ts';
import { createReusableResults, REUSABLE_KB, REUSES, reuseOf } from '../../store/calls/reusableResults.ts';
import { createCounter } from '../../store/mongo/counters.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { startDatabase } from '../helpers/stack.ts';

const LIMIT = { rate: 20, burst: 40 };
const DAY = 24 * 3600;

const keyring = createKeyring([{ id: 'a', bytes: Buffer.alloc(32, 1) }]);
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

/** Creates an account with a call that has ended, whose result can be kept under different inputs. */
async function startFixture() {
  const results = createResults(mongodbPieces(store), keyring);
  const reusable = createReusableResults(store, results, LIMIT);
  const { _id: accountId } = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: 10,
  });
  const callId = randomUUID();
  await createCalls(store).claim({
    _id: callId,
    accountId,
    keyId: null,
    keyPrefix: null,
    tool: 'web-scrape',
    cost: 3,
    requestId: '',
    actsOnWorld: false,
  });
  const result = { accountId, callId, result: { output: '{"a":1}' }, bytes: 7 };
  const reuse = (url: string, maxAge: number) => {
    const found = reuseOf(keyring, accountId, 'web-scrape', { url, maxAge });
    if (found === null) throw new Error('no maxAge');
    return found;
  };
  return { results, reusable, accountId, callId, result, reuse };
}

test('the key of an input depends on the account, the tool and all fields but maxAge', (t) => {
  const keyOf = (accountId: string, tool: string, input: Record<string, unknown>) =>
    reuseOf(keyring, accountId, tool, input)?.key;
  const one = keyOf('a', 'web-scrape', { url: 'u', format: 'text', maxAge: 1 });
  t.is(keyOf('a', 'web-scrape', { maxAge: 9, format: 'text', url: 'u' }), one);
  t.not(keyOf('b', 'web-scrape', { url: 'u', format: 'text', maxAge: 1 }), one);
  t.not(keyOf('a', 'website-screenshot', { url: 'u', format: 'text', maxAge: 1 }), one);
  t.not(keyOf('a', 'web-scrape', { url: 'u', format: 'markdown', maxAge: 1 }), one);
  t.is(keyOf('a', 'web-scrape', { url: 'u', format: 'text' }), undefined);
});

test('what an account keeps is limited, and a result that it has no room for is not kept', async (t) => {
  const { reusable, accountId, result, reuse } = await startFixture();
  const bytes = REUSABLE_KB.account * 1024;
  await reusable.keep(reuse('first', DAY), { ...result, bytes });
  const found = await reusable.find(accountId, reuse('first', DAY));
  t.is((await found?.read())?.toString(), '{"a":1}');
  await reusable.keep(reuse('second', DAY), result);
  t.is(await reusable.find(accountId, reuse('second', DAY)), null);

  const other = await startFixture();
  await other.reusable.keep(other.reuse('first', DAY), other.result);
  t.not(await other.reusable.find(other.accountId, other.reuse('first', DAY)), null);
});

test('the calls of an account that are answered in a day are limited', async (t) => {
  const { reusable, accountId, result, reuse } = await startFixture();
  await reusable.keep(reuse('page', DAY), result);
  await createCounter(store, REUSES).penalty(accountId, REUSES.max - 1);
  t.not(await reusable.find(accountId, reuse('page', DAY)), null);
  t.is(await reusable.find(accountId, reuse('page', DAY)), null);
});

test('a result is kept for its time, and its pieces never expire earlier than they would have', async (t) => {
  const { results, reusable, accountId, callId, result, reuse } = await startFixture();
  const later = new Date(Date.now() + 2 * DAY * 1000);
  const stored = await results.write(callId, Buffer.from('{"a":2}'), later);
  const expiry = async () => (await store.results.findOne({ _id: `${stored.id}:0` }))?.expiresAt.getTime();
  await reusable.keep(reuse('kept', 60), { ...result, result: { stored } });
  t.is(await expiry(), later.getTime());
  await reusable.keep(reuse('kept', 3 * DAY), { ...result, result: { stored } });
  t.true(((await expiry()) ?? 0) > later.getTime());

  const rows = await store.reusableResults.find({ accountId }).toArray();
  t.deepEqual(
    rows.map(({ madeAt, expiresAt }) => Number(expiresAt) - Number(madeAt)),
    [3 * DAY * 1000],
  );

  const linked = { expiresAt: Date.now() + DAY * 1000 };
  await reusable.keep(reuse('linked', 3 * DAY), { ...result, linked });
  const row = await store.reusableResults.findOne({ _id: reuse('linked', 1).key });
  t.is(linked.expiresAt - Number(row?.expiresAt), 3_600_000);
});
