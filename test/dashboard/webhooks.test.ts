import { randomUUID } from 'node:crypto';
import test from 'ava';
import { withStore } from '../helpers/account.ts';
import { newOwner } from '../helpers/dashboard.ts';
import { attribute, mainText, pageOf, rowsOf } from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

test('a pending secret is shown with its endpoint until it is activated', async (t) => {
  const owner = await newOwner(stack);
  const made = await pageOf(
    t,
    await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low' }),
  );
  const rotate = made.find((element) => attribute(element, 'action')?.endsWith('/rotate'));
  const path = ((rotate && attribute(rotate, 'action')) ?? '').replace(/^\/dashboard|\/rotate$/g, '');
  const shown = async () => rowsOf(await pageOf(t, await owner.get('/webhooks')))[0] ?? '';
  t.notRegex(await shown(), /pending/);
  t.is((await owner.post(`${path}/rotate`)).status, 200);
  t.regex(await shown(), /new secret pending until .* UTC Activate/);
  t.is((await owner.post(`${path}/rotate`)).status, 409);
  t.regex(mainText(await pageOf(t, await owner.post(`${path}/rotate`, { force: 'true' }))), /whsec_/);
  t.is((await owner.post(`${path}/activate`)).status, 303);
  t.notRegex(await shown(), /pending/);
});

test('a disabled endpoint shows what disabled it', async (t) => {
  const owner = await newOwner(stack);
  const id = randomUUID();
  await owner.post('/webhooks', { url: 'http://localhost:3999/hook', events: 'credits.low', reference: id });
  for (const [failures, words] of [
    [0, /No deliveries since .* UTC: the operator disabled the endpoint/],
    [19, /the operator disabled the endpoint/],
    [20, /No deliveries since .* UTC: 20 of 20 consecutive attempts failed\. Repair the receiver/],
  ] as const) {
    await withStore(stack, ({ webhookEndpoints }) =>
      webhookEndpoints.updateOne(
        { _id: `whe_${id}` },
        { $set: { state: 'disabled', disabledAt: new Date(), failures } },
      ),
    );
    const text = mainText(await pageOf(t, await owner.get(`/webhooks/whe_${id}`)));
    t.regex(text, words);
    t.is(/consecutive attempts failed/.test(text), failures === 20);
  }
});
