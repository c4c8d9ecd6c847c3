import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  createRefusals,
  MAX_REFUSALS,
  pageOfRefusals,
  type Refusal,
  refusedByDay,
} from '../../store/calls/refusals.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';
import { openDatabases } from './ledgerFixtures.ts';

let store: Store;
const open = new AsyncDisposableStack();

test.before(async () => {
  const databases = open.use(await openDatabases(1));
  store =
    databases.stores[0] ??
    (() => {
      throw new Error('no database');
    })();
});
test.after.always(() => open.disposeAsync());

const refusal = (more: Partial<Refusal> = {}): Refusal => ({
  accountId: 'acc_1',
  keyId: 'key_1',
  keyPrefix: 'ut_abcdef',
  tool: 'hash-text',
  code: 'invalid_input',
  faults: [{ pointer: '/text', message: 'is required' }],
  requestId: `req_${randomUUID()}`,
  ...more,
});

const recorder = () =>
  createRefusals(store, (error) => {
    throw error;
  });
const rowsOf = async (accountId: string) =>
  (await pageOfRefusals(store, accountId, {}, { limit: 100 })).items;

test.serial('equal refusals of all processes are one row with their number and the latest ids', async (t) => {
  await untilDayLasts();
  const [a, b] = [recorder(), recorder()];
  const accountId = randomUUID();
  for (let i = 0; i < 8; i++) a.record(refusal({ accountId, requestId: `req_a${i}` }));
  await a.flush();
  for (let i = 0; i < 4; i++) b.record(refusal({ accountId, requestId: `req_b${i}` }));
  b.record(refusal({ accountId, code: 'rate_limited', faults: [], requestId: 'req_c' }));
  await b.flush();
  await b.flush();
  const rows = (await rowsOf(accountId)).toSorted((x, y) => y.count - x.count);
  t.deepEqual(
    rows.map(({ code, count }) => [code, count]),
    [
      ['invalid_input', 12],
      ['rate_limited', 1],
    ],
  );
  const [first] = rows;
  t.deepEqual(first?.requestIds, [
    ...['req_a2', 'req_a3', 'req_a4', 'req_a5', 'req_a6', 'req_a7'],
    ...['req_b0', 'req_b1', 'req_b2', 'req_b3'],
  ]);
  t.deepEqual(first?.faults, [{ pointer: '/text', message: 'is required' }]);
  t.true(first !== undefined && first.firstAt < first.lastAt);
  const [day, ...others] = await refusedByDay(store, accountId, 7);
  t.is(day?.count, 13);
  t.deepEqual(others, []);
});

test.serial('many combinations of an account are counted together, and none is lost', async (t) => {
  const refusals = recorder();
  const accountId = randomUUID();
  for (let i = 0; i < 3000; i++) refusals.record(refusal({ accountId, keyId: `key_${i % 300}` }));
  await refusals.flush();
  const rows = await rowsOf(accountId);
  t.is(rows.length, 21);
  t.is(
    rows.reduce((sum, { count }) => sum + count, 0),
    3000,
  );
  t.deepEqual(
    rows.filter(({ code }) => code === null).map(({ keyId, tool, faults }) => ({ keyId, tool, faults })),
    [{ keyId: null, tool: null, faults: [] }],
  );
  const big = refusal({
    accountId,
    tool: 'ping',
    faults: Array.from({ length: 20 }, () => ({
      pointer: `/${'p'.repeat(5000)}`,
      message: 'm'.repeat(5000),
    })),
  });
  refusals.record(big);
  await refusals.flush();
  const stored = (await rowsOf(accountId)).find(({ tool }) => tool === 'ping');
  t.true(JSON.stringify(stored).length < 3000);
});

test.serial('an account keeps its newest rows only', async (t) => {
  const refusals = recorder();
  const accountId = randomUUID();
  const template = { accountId, count: 1, keyId: null, keyPrefix: null, tool: null, code: null };
  await store.refusals.insertMany(
    Array.from({ length: MAX_REFUSALS + 40 }, (_, i) => {
      const at = new Date(Date.now() - 1_000_000 - i * 1000);
      return { ...template, _id: `${accountId} ${i}`, firstAt: at, lastAt: at, faults: [], requestIds: [] };
    }),
  );
  refusals.record(refusal({ accountId }));
  await refusals.flush();
  t.is(await store.refusals.countDocuments({ accountId }), MAX_REFUSALS);
  t.is((await rowsOf(accountId))[0]?.code, 'invalid_input');
  const index = (await store.refusals.indexes()).find(({ key }) => 'lastAt' in key);
  t.is(index?.expireAfterSeconds, 7 * 86_400);
});

test.serial('a flood of refusals costs a handful of commands', async (t) => {
  const refusals = recorder();
  const accountId = randomUUID();
  await store.db.command({ profile: 2 });
  for (let i = 0; i < 50_000; i++) refusals.record(refusal({ accountId, keyId: `key_${i % 5}` }));
  await refusals.flush();
  await store.db.command({ profile: 0 });
  const commands = await store.db
    .collection('system.profile', { readConcern: { level: 'local' } })
    .find({ ns: { $regex: 'refusal' } })
    .toArray();
  // The profiler has an entry for each document of a write: five rows, a day, and the check of the number of rows.
  t.true(commands.length > 0 && commands.length < 12, `${commands.length} entries`);
  t.is(
    (await rowsOf(accountId)).reduce((sum, { count }) => sum + count, 0),
    50_000,
  );
});
