import test from 'ava';
import { EVENTS } from '../../schemas/events.ts';
import { newDelivery, newEvent } from '../../store/webhooks/events.ts';
import { withStore } from '../helpers/account.ts';
import { newOwner } from '../helpers/dashboard.ts';
import { linksOf, mainText, pageOf, rowsOf } from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

test('events are filtered by type and delivery state, and paged', async (t) => {
  const owner = await newOwner(stack);
  t.regex(mainText(await pageOf(t, await owner.get('/events'))), /There are no events yet/);
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low' });
  await withStore(stack, async ({ accounts, events, deliveries, webhookEndpoints }) => {
    const account = await accounts.findOne({ email: owner.email });
    const endpoint = await webhookEndpoints.findOne({ accountId: account?._id ?? '' });
    if (account === null || endpoint === null) return t.fail('no endpoint');
    const { _id, accountId } = endpoint;
    const past = (days: number) => ({ createdAt: new Date(Date.now() - days * 86_400_000) });
    const granted = { balance: 30, amount: 5, source: 'purchase', reference: 'pi_1' } as const;
    const rows = [
      newEvent(accountId, 'credits.low', EVENTS['credits.low'].example, past(1)),
      newEvent(accountId, 'credits.granted', granted, past(20)),
      ...Array.from({ length: 30 }, () =>
        newEvent(accountId, 'webhook.test', EVENTS['webhook.test'].example, past(2)),
      ),
    ].map(({ pending: _handedOver, ...event }) => event);
    const [low, old, ...tests] = rows;
    if (low === undefined || old === undefined) return t.fail();
    await events.insertMany(rows);
    const failed = { state: 'failed', attempts: 8, nextAt: null } as const;
    const nextAt = new Date('2999-12-31T01:02:03Z');
    await deliveries.insertMany([
      { ...newDelivery(low, _id, false), ...failed },
      { ...newDelivery(low, 'whe_deleted', false), attempts: 2, nextAt },
      newDelivery(old, _id, true),
      ...tests.map((event) => ({ ...newDelivery(event, _id, false), ...failed })),
    ]);
  });
  const page = async (query: string) => pageOf(t, await owner.get(`/events${query}`));
  const [low = ''] = rowsOf(await page('?event=credits.low'));
  t.regex(
    low,
    /credits\.low Only 24 credits are left\. http:\/\/localhost:3999\/hook failed 8 attempts Resend credits\.low deleted endpoint pending 2 attempts, next 2999-12-31 01:02 UTC$/,
  );
  // Deliveries that are too old and test deliveries cannot be resent.
  const [old = '', ...rest] = rowsOf(await page('?state=held'));
  t.regex(
    old,
    /credits\.granted balance: 30, amount: 5, source: purchase, reference: pi_1 http:\/\/localhost:3999\/hook held 0 attempts$/,
  );
  t.deepEqual(rest, []);
  t.is(rowsOf(await page('?state=failed&event=webhook.test')).filter((it) => /Resend/.test(it)).length, 0);
  t.regex(mainText(await page('?state=delivered')), /No events match/);

  for (const [query, count] of [
    ['', 32],
    ['?state=failed', 31],
    ['?event=webhook.test', 30],
    ['?event=webhook.test&state=failed', 30],
  ] as const) {
    const first = await page(query);
    t.is(rowsOf(first).length, 25);
    const older = linksOf(first).find((href) => href.includes('cursor=')) ?? '';
    t.is(rowsOf(await pageOf(t, await owner.get(older.replace('/dashboard', '')))).length, count - 25);
    const api = await fetch(`${stack.baseUrl}/api/v1/account/events${query}`, {
      headers: { Cookie: owner.cookie },
    });
    t.is((await api.json()).items.length, 20);
  }
  for (const query of ['?state=lost', '?event=made.up', '?cursor=made-up']) {
    const refused = await owner.get(`/events${query}`);
    t.is(refused.status, 422, query);
    await pageOf(t, refused);
  }
});
