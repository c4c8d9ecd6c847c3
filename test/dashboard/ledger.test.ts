import test from 'ava';
import { withStore } from '../helpers/account.ts';
import { callWith, madeKey, newOwner } from '../helpers/dashboard.ts';
import { linksOf, mainText, pageOf, rowsOf } from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

test('the ledger adds up as pages, as CSV and when recomputed', async (t) => {
  const owner = await newOwner(stack);
  const key = await madeKey(owner);
  for (let i = 0; i < 3; i++) await callWith(stack, key);
  const rows = rowsOf(await pageOf(t, await owner.get('/ledger')));
  t.deepEqual(
    rows.map((row) => row.replace(/^.*UTC /, '')),
    ['charge hash-text −1 27', 'charge hash-text −1 28', 'charge hash-text −1 29', 'sign-up +30 30'],
  );
  const csv = await owner.get('/ledger/statement.csv');
  t.regex(csv.headers.get('content-type') ?? '', /^text\/csv/);
  t.regex(csv.headers.get('content-disposition') ?? '', /^attachment; filename="ledger.csv"/);
  t.is((await csv.text()).split('\r\n').length, 6);

  const calls = await pageOf(t, await owner.get('/calls?tool=hash-text'));
  const file = linksOf(calls).find((href) => href.includes('/calls.csv')) ?? '';
  const exported = await owner.get(file.replace('/dashboard', ''));
  t.regex(exported.headers.get('content-disposition') ?? '', /^attachment; filename="calls.csv"/);
  t.regex(await exported.text(), /^id,tool,.*\r\n(?:[\w-]+,hash-text,1,1,charged,.*\r\n){3}$/);
  t.is((await (await owner.get('/calls/calls.csv?tool=ping')).text()).split('\r\n').length, 2);
  const refused = await owner.get('/calls/calls.csv?from=soon');
  t.is(refused.status, 422);
  t.regex(mainText(await pageOf(t, refused)), /First day/);

  const recompute = async () => mainText(await pageOf(t, await owner.post('/ledger/recompute')));
  t.regex(await recompute(), /4 entries add up to 27 credits\. This equals your balance/);
  await withStore(stack, ({ accounts }) =>
    accounts.updateOne({ email: owner.email }, { $inc: { balance: 1 } }),
  );
  t.regex(await recompute(), /does not match.*balance: 27 expected, 28 found/);
});
