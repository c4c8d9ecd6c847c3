import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { withStore } from '../helpers/account.ts';
import { callWith, madeKey, newOwner, type Visitor } from '../helpers/dashboard.ts';
import { attribute, mainText, pageOf, rowsOf, textOf } from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

test('the overview shows usage, forecast, latency and errors, as charts and as tables', async (t) => {
  await untilDayLasts();
  const owner = await newOwner(stack);
  t.regex(
    mainText(await pageOf(t, await owner.get(''))),
    /Credits last – estimated after the first day .* No calls in this period/,
  );
  const key = await madeKey(owner);
  await callWith(stack, key);
  await callWith(stack, key, 'bcrypt-hash', { password: 'a', workFactor: 4 });
  await callWith(stack, key, 'qr-generate', { text: 'a'.repeat(2900), errorCorrection: 'H' });
  await withStore(stack, async ({ accounts, calls }) => {
    const account = await accounts.findOne({ email: owner.email });
    if (account === null) return t.fail('no account');
    // 11 credits six days ago, and more so long ago that only longer periods show them.
    const call = (days: number, charged: number): CallDoc => {
      const startedAt = new Date(Date.now() - days * 86_400_000);
      return {
        _id: randomUUID(),
        accountId: account._id,
        keyId: null,
        keyPrefix: null,
        tool: 'ping',
        cost: charged,
        charged,
        state: 'charged',
        code: null,
        requestId: `req_${randomUUID()}`,
        startedAt,
        touchedAt: startedAt,
        finishedAt: new Date(startedAt.getTime() + 60_000),
        actsOnWorld: false,
      };
    };
    await calls.insertMany([call(6, 11), call(20, 1000), call(120, 5)]);
  });
  const opened = (days: number) =>
    withStore(stack, ({ accounts }) =>
      accounts.updateOne(
        { email: owner.email },
        { $set: { createdAt: new Date(Date.now() - days * 86_400_000 - 60_000) } },
      ),
    );
  // The account is minutes old: its first calls are no forecast.
  t.regex(mainText(await pageOf(t, await owner.get(''))), /Credits last – .* Used 14 credits since sign-up /);
  await opened(2);
  t.regex(
    mainText(await pageOf(t, await owner.get(''))),
    /Credits last 3 days at the average use of the last 2 days/,
  );
  await opened(200);
  const week = await pageOf(t, await owner.get('?days=7'));
  const text = mainText(week);
  // 27 credits at 14 in seven days.
  t.regex(text, /Credits last 13 days/);
  t.regex(text, /Used 14 credits in 7 days Calls 4 1 failed, not charged Success 75 %/);
  t.regex(text, /Credits by day \(UTC\) 14 credits, at most 11 a day/);
  t.regex(text, /Calls by day \(UTC\) 4 calls, at most 3 a day/);
  const charts = week.filter((element) => attribute(element, 'role') === 'img');
  t.deepEqual(
    charts.map((chart) => attribute(chart, 'aria-label')),
    ['Credits by day (UTC): 14 credits, at most 11 a day', 'Calls by day (UTC): 4 calls, at most 3 a day'],
  );
  t.regex(text, /Credits by day \(UTC\) 14 credits, at most 11 a day ?ping bcrypt-hash hash-text /);
  t.true(charts[0] !== undefined && /: 3 credits, 2 bcrypt-hash, 1 hash-text/.test(textOf(charts[0])));
  const byKey = await pageOf(t, await owner.get('?days=7&by=key'));
  t.regex(mainText(byKey), /Credits by day \(UTC\) 14 credits, at most 11 a day ?dashboard website ut_/);
  t.true(
    rowsOf(byKey).some((row) => row === `${new Date().toISOString().slice(0, 10)} 0 3`),
    'a table has the same numbers',
  );
  const rows = rowsOf(week);
  const today = new Date().toISOString().slice(0, 10);
  t.true(
    rows.some((row) => row.startsWith(`${today} 3 3 1 `)),
    rows.join('\n'),
  );
  t.true(
    rows.some(
      (row) => /^ping 11 1 100 % 60 s 60 s$/.test(row) || /^ping 11 1 100 % \d\d s \d\d s$/.test(row),
    ),
  );
  t.true(
    rows.some((row) => /^website ut_\S+ 3 3 66.6 %$/.test(row)),
    rows.join('\n'),
  );
  t.true(rows.some((row) => /qr-generate failed [A-Z][a-z ]+ \S+ 0 .* ut_/.test(row)));
  t.regex(mainText(await pageOf(t, await owner.get(''))), /Used 1,014 credits in 30 days/);
  t.regex(mainText(await pageOf(t, await owner.get('?days=90'))), /Used 1,014 credits in 90 days/);
});

test('the overview reports what needs attention', async (t) => {
  const owner = await newOwner(stack);
  t.notRegex(await (await owner.get('')).text(), /Needs attention/);
  const id = randomUUID();
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low', reference: id });
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  await owner.post('/keys', { name: 'temporary', scope: 'tools', expiresAt: tomorrow });
  const failing = randomUUID();
  await owner.post('/webhooks', {
    url: 'http://localhost:3998/hook',
    events: 'credits.low',
    reference: failing,
  });
  await withStore(stack, async ({ webhookEndpoints, accounts }) => {
    await webhookEndpoints.updateOne({ _id: `whe_${id}` }, { $set: { state: 'disabled' } });
    await webhookEndpoints.updateOne({ _id: `whe_${failing}` }, { $set: { failures: 3 } });
    await accounts.updateOne({ email: owner.email }, { $set: { balance: 3 } });
  });
  const page = await pageOf(t, await owner.get(''));
  const [section] = page.filter((element) => attribute(element, 'aria-label') === 'Needs attention');
  const words = section === undefined ? '' : textOf(section);
  for (const shown of [
    /Only 3 credits left/,
    /http:\/\/localhost:3999\/hook is disabled/,
    /The last 3 attempts to deliver to the webhook endpoint http:\/\/localhost:3998\/hook failed/,
    /The key temporary expires on/,
  ])
    t.regex(words, shown);
});

test('the list of first steps marks the completed ones', async (t) => {
  const owner = await newOwner(stack);
  const steps = async () => {
    const done = (await pageOf(t, await owner.get(''))).filter((it) => attribute(it, 'class') === 'done');
    return done.map((it) => textOf(it).replaceAll(/\s+/g, ' ').trim());
  };
  t.deepEqual(await steps(), []);
  const key = await madeKey(owner);
  t.deepEqual(await steps(), ['Create a key (done)']);
  const id = await withStore(stack, async ({ apiKeys, accounts }) => {
    const account = await accounts.findOne({ email: owner.email });
    return (await apiKeys.findOne({ accountId: account?._id ?? '' }))?._id;
  });
  const firstCall = async (of: Visitor) => (await (await of.get(`/keys/${id}/first-call`)).json()).call;
  t.is(await firstCall(owner), null);
  await callWith(stack, key);
  const { path, state } = await firstCall(owner);
  t.is(state, 'charged');
  t.is((await owner.get(path.replace('/dashboard', ''))).status, 200);
  t.deepEqual(await steps(), ['Create a key (done)', 'Make the first call with a key (done)']);
  const other = await newOwner(stack);
  t.is(await firstCall(other), null, "another account's key");
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low' });
  t.notRegex(mainText(await pageOf(t, await owner.get(''))), /Get started/);
});
