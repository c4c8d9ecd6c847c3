import { randomUUID } from 'node:crypto';
import test from 'ava';
import { withStore } from '../helpers/account.ts';
import { callWith, madeKey, newOwner } from '../helpers/dashboard.ts';
import { attribute, fieldValue, linksOf, mainText, pageOf, rowsOf, textOf } from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

test('credits are bought with the test checkout, once when the form is submitted twice', async (t) => {
  const owner = await newOwner(stack);
  const shop = await pageOf(t, await owner.get('/credits'));
  t.regex(mainText(shop), /Test checkout: no payment is made/);
  const packs = shop.filter((element) => attribute(element, 'name') === 'pack');
  t.deepEqual(packs.map(textOf), [
    '1,000 credits for $9.00',
    '5,000 credits for $39.00',
    '25,000 credits for $169.00',
  ]);
  const reference = fieldValue(shop, 'reference');
  const sent = await owner.post('/credits/buy', { pack: '5000', reference });
  t.is(sent.status, 303);
  const checkout = await pageOf(
    t,
    await owner.get((sent.headers.get('location') ?? '').replace('/dashboard', '')),
  );
  t.regex(mainText(checkout), /Test checkout: no payment is made.* 5,000 credits .* \$39\.00/);
  const fields = { pack: fieldValue(checkout, 'pack'), reference: fieldValue(checkout, 'reference') };
  const paid = await Promise.all([1, 2, 3].map(() => owner.post('/credits/test-checkout', fields)));
  for (const { status, headers } of paid)
    t.deepEqual([status, headers.get('location')], [303, '/dashboard/credits?done=bought']);
  const after = await pageOf(t, await owner.get('/credits?done=bought'));
  t.regex(mainText(after), /The credits were added to your account\..* Available 5,030 /);
  t.is(rowsOf(after).filter((row) => /UTC 5,000 \$39\.00 test paid test_/.test(row)).length, 1);
  const receipt = linksOf(after).find((href) => href.includes('/receipts/')) ?? '';
  const receiptPage = mainText(await pageOf(t, await owner.get(receipt.replace('/dashboard', ''))));
  t.regex(receiptPage, /Item 5,000 credits, prepaid Total USD 39\.00 Payment None \(test checkout\)/);
  t.notRegex(receiptPage, /Receipt of Stripe/);
  t.is(rowsOf(after).filter((row) => / 5,000 /.test(row)).length, 1, 'a purchase is listed once');
  t.notRegex(mainText(after), / Balance | Reserved | Other credits /);
  const ledger = await pageOf(t, await owner.get('/ledger'));
  t.is(rowsOf(ledger).filter((row) => /UTC purchase test_\S+ \+5,000 5,030$/.test(row)).length, 1);

  const other = await newOwner(stack);
  for (const wrong of [
    await owner.post('/credits/test-checkout', { ...fields, pack: '1000' }),
    await other.post('/credits/test-checkout', fields),
    await owner.post('/credits/test-checkout', { ...fields, pack: '5001' }),
    await owner.post('/credits/test-checkout', { ...fields, reference: 'mine' }),
    await owner.post('/credits/buy', { ...fields, pack: '-5000' }),
    await owner.get('/credits/test-checkout?pack=5001'),
  ])
    t.is(wrong.status, 422);
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Available 5,030 /);
  t.regex(
    mainText(await pageOf(t, await other.get('/credits'))),
    /Available 30 .* There are no purchases yet/,
  );
});

test('a shortfall is shown where credits are bought and used, and so is its settlement', async (t) => {
  const owner = await newOwner(stack);
  const owe = (shortfall: number) =>
    withStore(stack, ({ accounts }) => accounts.updateOne({ email: owner.email }, { $set: { shortfall } }));
  const textOn = async (path: string) => mainText(await pageOf(t, await owner.get(path)));
  const buy = async (pack: string) => {
    const fields = { pack, reference: randomUUID() };
    const bought = await owner.post('/credits/test-checkout', fields);
    return textOn((bought.headers.get('location') ?? '').replace('/dashboard', ''));
  };
  await owe(1200);
  for (const path of ['', '/credits', '/tools', '/tools/hash-text'])
    t.regex(
      await textOn(path),
      /suspended: 1,200 credits of an adjustment or a refund could not be deducted/,
      path,
    );
  const refused = mainText(await pageOf(t, await owner.post('/tools/hash-text', { text: 'a' })));
  t.regex(refused, /suspended: 1,200 credits/);

  const first = await buy('1000');
  t.regex(first, /suspended: 200 credits/);
  t.regex(first, /Of the 1,000 credits of the newest purchase, 1,000 settled the account's shortfall\./);
  t.notRegex(first, /added to your account/);
  const second = await buy('1000');
  t.notRegex(second, /suspended/);
  t.regex(
    second,
    /newest purchase, 200 settled the account's shortfall; the rest was added to your account\./,
  );
  t.regex(await buy('1000'), /The credits were added to your account\./);
  t.notRegex(await textOn('/tools/hash-text'), /suspended/);
});

test('automatic top-ups buy a pack once when a call takes the balance below the threshold', async (t) => {
  const owner = await newOwner(stack);
  const shop = await pageOf(t, await owner.get('/credits'));
  t.regex(mainText(shop), /Automatic top-ups are off\./);
  t.is(mainText(shop).match(/no payment is made/gi)?.length, 1, 'said once');
  const form = {
    below: '30',
    topUpPack: '1000',
    monthlyLimit: '17.99',
    reference: fieldValue(shop, 'reference'),
  };
  for (const [wrong, words] of [
    [{ below: '0' }, /When the balance falls below \(credits\) must be a whole number from 1/],
    [{ topUpPack: '999' }, /Buy must be selected on this page/],
    [{ monthlyLimit: '8.99' }, /At most per month must be at least the price of the pack/],
    [{ monthlyLimit: '1e3' }, /At most per month must be an amount/],
    [{ reference: 'mine' }, /Buy must be selected on this page/],
  ] as const) {
    const refused = await owner.post('/credits/top-up', { ...form, ...wrong });
    t.is(refused.status, 422);
    const page = await pageOf(t, refused);
    t.regex(mainText(page), words);
    t.is(fieldValue(page, 'below'), 'below' in wrong ? wrong.below : form.below);
  }
  const saved = await owner.post('/credits/top-up', form);
  t.is(saved.headers.get('location'), '/dashboard/credits?done=top-up');
  const key = await madeKey(owner);
  t.is((await callWith(stack, key)).status, 200);
  const bought = async () => rowsOf(await pageOf(t, await owner.get('/credits'))).length > 0;
  await until('the pack is bought', bought);
  t.is((await callWith(stack, key)).status, 200);
  const after = await pageOf(t, await owner.get('/credits'));
  t.regex(mainText(after), /Available 1,028 .*Automatic top-ups are on: .*This month: \$9\.00\./);
  t.is(rowsOf(after).filter((row) => /UTC 1,000 \$9\.00 test paid test_topup-ent_/.test(row)).length, 1);

  t.is((await owner.post('/credits/top-up/off')).status, 303);
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Automatic top-ups are off\./);
});
