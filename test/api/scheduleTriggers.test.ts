import test from 'ava';
import { MAX_SCHEDULE_CHANGES, MAX_TRIGGERS } from '../../schemas/schedules.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { schedulesOf } from '../helpers/schedules.ts';

const stack = await useStack('limited');
const store = await openStore(stack.mongodbUri);
test.after.always(async () => {
  await store.close();
  await stack.stop();
});

test('an account triggers a limited number of runs a day, and repeated requests count once', async (t) => {
  const account = await makeAccount(stack, 10);
  const schedules = schedulesOf(account, stack.baseUrl);
  const job = { tool: 'hash-text', input: { text: 'abc' } };
  const { id } = await schedules.create({ name: 'rare', cron: '30 4 29 2 *', job });
  const key = { 'Idempotency-Key': 'k' };
  const run = await schedules.trigger(id, key);
  // As if all but one of the others had been triggered today.
  const counter = { key: `trigger:${account.accountId}` };
  const { modifiedCount } = await store.db
    .collection('attempts')
    .updateOne(counter, { $set: { points: MAX_TRIGGERS - 1 } });
  t.is(modifiedCount, 1);
  t.is((await schedules.trigger(id, key)).id, run.id);
  await schedules.trigger(id);
  const refused = await schedules.request(`/${id}/trigger`, { method: 'POST' });
  t.true(Number(refused.headers.get('Retry-After')) > 86_000);
  t.regex(String((await isProblem(t, refused, 'rate_limited')).detail), /trigger 5000 runs/);
  t.is((await schedules.trigger(id, key)).id, run.id);
  t.is((await schedules.runs(id)).length, 2);
});

test('an account creates and changes schedules a limited number of times a day, and can still delete them', async (t) => {
  const account = await makeAccount(stack, 10);
  const schedules = schedulesOf(account, stack.baseUrl);
  const job = { tool: 'hash-text', input: { text: 'abc' } };
  const body = { name: 'rare', cron: '30 4 29 2 *', job };
  const { id } = await schedules.create(body);
  // As if all but one of the others had been made today.
  const counter = { key: `schedule-change:${account.accountId}` };
  const { modifiedCount } = await store.db
    .collection('attempts')
    .updateOne(counter, { $set: { points: MAX_SCHEDULE_CHANGES - 1 } });
  t.is(modifiedCount, 1);
  await schedules.change(id, { name: 'changed' });
  const change = { method: 'PATCH', body: JSON.stringify({ name: 'again' }) };
  const refused = await schedules.request(`/${id}`, change);
  t.true(Number(refused.headers.get('Retry-After')) > 86_000);
  t.regex(String((await isProblem(t, refused, 'rate_limited')).detail), /change schedules 1000 times/);
  await isProblem(t, await schedules.post(body), 'rate_limited');
  t.is((await schedules.get(id)).name, 'changed');
  t.is((await schedules.remove(id)).status, 204);
});
