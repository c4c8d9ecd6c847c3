import test from 'ava';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { schedulesOf } from '../helpers/schedules.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const HOUR_MS = 3_600_000;
const HOURS = 30 * 24;
const WITHIN_MS = 600_000;

let stack: Stack;
let store: Store;

test.before(async () => {
  stack = await startStack({ pools: ['orchestrator', 'cpu'], apis: 2 });
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

test('thirty days of an hourly schedule are made up for, each hour once', async (t) => {
  t.timeout(2 * WITHIN_MS);
  const account = await makeAccount(stack, 1000);
  const schedules = schedulesOf(account, stack.baseUrl);
  const job = { tool: 'hash-text', input: { text: 'abc' } };
  const { id } = await schedules.create({ name: 'hourly', cron: '0 * * * *', paused: true, job });
  const last = new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS);
  const first = new Date(last.getTime() - (HOURS - 1) * HOUR_MS);
  // Both API processes at the same time, and once more while the runs take place.
  const both = await Promise.all(
    stack.baseUrls.map((baseUrl) => schedulesOf(account, baseUrl).backfill(id, first, last)),
  );
  t.true(both.every(({ times }) => times === HOURS));
  t.is(
    both.reduce((sum, { added }) => sum + added, 0),
    HOURS,
  );
  t.deepEqual(await schedules.backfill(id, first, last), { times: HOURS, added: 0 });

  const ended = { scheduleId: id, endedAt: { $ne: null } } as const;
  await until(
    'all runs have ended',
    async () => (await store.scheduleRuns.countDocuments(ended)) === HOURS,
    WITHIN_MS,
  );
  const runs = (await schedules.runs(id)).reverse();
  t.deepEqual(
    runs.map(({ dueAt }) => dueAt),
    Array.from({ length: HOURS }, (_, hour) => new Date(first.getTime() + hour * HOUR_MS).toISOString()),
  );
  t.true(runs.every(({ state, charged }) => state === 'succeeded' && charged === 1));
  t.is(new Set(runs.map(({ jobId }) => jobId)).size, HOURS);
  t.deepEqual(await auditWhenIdle(store), []);
  t.is((await accountOf(store, account.accountId)).balance, 1000 - HOURS);
  t.is((await callsOf(store, account.accountId)).length, HOURS);
});
