import { randomUUID } from 'node:crypto';
import test from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createPayments } from '../../store/billing/payments.ts';
import { withStore } from '../helpers/account.ts';
import { callWith, madeKey, newOwner, type Visitor } from '../helpers/dashboard.ts';
import {
  brokenAnchors,
  type Element,
  fieldValue,
  linksOf,
  mainText,
  pageOf,
  rowsOf,
  textOf,
} from '../helpers/markup.ts';
import { useStack } from '../helpers/profiles.ts';
import { signIn } from '../helpers/session.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { newOperator } from '../helpers/users.ts';

let stack: SharedStack;

test.before(async () => {
  stack = await useStack();
});
test.after.always(() => stack?.stop());

const search = (operator: Visitor, query: string) => operator.get(`/operator?q=${encodeURIComponent(query)}`);

test('operators set a monthly allowance', async (t) => {
  const operator = await newOperator(stack);
  const owner = await newOwner(stack);
  const list = await pageOf(t, await operator.get(`/operator?q=${encodeURIComponent(owner.email)}`));
  const path = (linksOf(list).find((href) => href.includes('/accounts/')) ?? '').replace('/dashboard', '');
  const set = await operator.post(`${path}/allowance`, { monthlyAllowance: '500' });
  t.is(set.status, 303);
  const page = await pageOf(
    t,
    await operator.get((set.headers.get('location') ?? '').replace('/dashboard', '')),
  );
  t.regex(mainText(page), /The monthly allowance was set/);
  t.is(fieldValue(page, 'monthlyAllowance'), '500');
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Allowance 500 granted each month/);
  for (const monthlyAllowance of ['-1', '1.5', '', '1000000001']) {
    const refused = await operator.post(`${path}/allowance`, { monthlyAllowance });
    t.is(refused.status, 422, monthlyAllowance);
    t.is(fieldValue(await pageOf(t, refused), 'monthlyAllowance'), monthlyAllowance);
  }
  t.is((await owner.post(`${path}/allowance`, { monthlyAllowance: '1' })).status, 404);
  t.is((await owner.get(`${path}/allowance`)).status, 404);
  t.is((await operator.get(`${path}/allowance`)).headers.get('location'), `/dashboard${path}`);
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Allowance 500 /);
  const ended = await operator.post(`${path}/allowance`, { monthlyAllowance: '0' });
  const news = await operator.get((ended.headers.get('location') ?? '').replace('/dashboard', ''));
  t.regex(mainText(await pageOf(t, news)), /The monthly allowance was removed\./);
});

test('operators suspend an account, whose owner sees why and keeps keys and session, and end the suspension', async (t) => {
  const operator = await newOperator(stack);
  const owner = await newOwner(stack);
  const account = await withStore(stack, (store) => store.accounts.findOne({ email: owner.email }));
  const path = `/operator/accounts/${account?._id}`;
  const text = async (from: typeof owner, page: string) => mainText(await pageOf(t, await from.get(page)));
  t.is((await operator.post(`${path}/suspension`, { suspensionReason: ' ' })).status, 422);
  t.notRegex(await text(owner, ''), /suspended/);

  const reason = 'The <b>terms</b> forbid this.';
  const { headers } = await operator.post(`${path}/suspension`, { suspensionReason: reason });
  t.is(headers.get('location'), `/dashboard${path}?done=suspended`);
  t.regex(await text(operator, path), /Suspended .*: The <b>terms<\/b> forbid this\./);
  for (const page of ['', '/tools', '/credits'])
    t.regex(await text(owner, page), /suspended by an operator of the service: The <b>terms<\/b> forbid/);
  t.regex(
    await text(owner, '/settings/security-log'),
    /Account suspended The <b>terms<\/b> forbid this\. An operator/,
  );
  t.is((await owner.post('/tools/hash-text', { text: 'a' })).status, 403);
  t.is((await owner.get('/keys')).status, 200);
  t.is((await owner.post(`${path}/lift`, {})).status, 404, 'owners cannot end it');

  t.is((await operator.post(`${path}/lift`, {})).status, 303);
  t.notRegex(await text(owner, ''), /suspended/);
  t.regex(await text(owner, '/settings/security-log'), /Suspension ended/);
  t.is((await owner.post('/tools/hash-text', { text: 'a' })).status, 200);

  await withStore(stack, (store) =>
    store.db.collection('attempts').insertOne({
      key: `uncharged:${account?._id}`,
      points: 1_234_567,
      expire: new Date(Date.now() + 3_600_000),
    }),
  );
  const accountId = account?._id ?? '';
  await withStore(stack, ({ apiProcesses }) =>
    apiProcesses.insertOne({
      _id: accountId,
      renewedAt: new Date(),
      clients: {
        accounts: [{ client: accountId, connections: 1_501, receivedBytes: 2 ** 21, unreadBytes: 0 }],
        addresses: [{ client: '192.0.2.7', connections: 1_502, receivedBytes: 0, unreadBytes: 3 * 2 ** 20 }],
      },
    }),
  );
  const shares = await text(operator, '/operator/shares');
  // The owner's own connections count too.
  t.true(shares.includes(`${owner.email} – 0 1,234,567 0 0`), shares);
  t.regex(shares, new RegExp(`${owner.email} 1,50\\d 2 0`));
  t.true(shares.includes('192.0.2.7 1,502 0 3'), shares);
  await withStore(stack, ({ apiProcesses }) => apiProcesses.deleteOne({ _id: accountId }));
  t.is((await owner.get('/operator/shares')).status, 404);
});

test('operators find an account and adjust it once, even if the form is submitted twice', async (t) => {
  const operator = await newOperator(stack);
  const owner = await newOwner(stack);
  const list = await pageOf(t, await operator.get(`/operator?q=${encodeURIComponent(owner.email)}`));
  t.is(rowsOf(list).length, 1);
  t.regex(mainText(list), /tools-cpu ok/);
  const path = (linksOf(list).find((href) => href.includes('/accounts/')) ?? '').replace('/dashboard', '');
  const form = await pageOf(t, await operator.get(path));
  const fields = { amount: '12', reason: 'a <b>gift</b>', reference: fieldValue(form, 'reference') };
  const review = await pageOf(t, await operator.post(`${path}/adjustment`, fields));
  const shown = mainText(review);
  t.true(shown.includes(owner.email));
  t.regex(shown, /Change Add 12 credits Reason a <b>gift<\/b> Balance 30 now, 42 after the adjustment/);
  for (const [name, value] of Object.entries(fields)) t.is(fieldValue(review, name), value);
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Available 30 /);
  for (let i = 0; i < 2; i++) t.is((await operator.post(path, fields)).status, 303);
  t.regex(mainText(await pageOf(t, await owner.get('/credits'))), /Available 42 /);
  for (const [amount, available] of [
    ['1e3', 1042],
    ['-1.0e3', 42],
    ['+.1e2', 52],
    ['-10', 42],
  ] as const) {
    t.is(
      (await operator.post(path, { amount, reason: 'a gift', reference: randomUUID() })).status,
      303,
      amount,
    );
    t.regex(
      mainText(await pageOf(t, await owner.get('/credits'))),
      new RegExp(`Available ${available.toLocaleString('en')} `),
    );
  }
  for (const wrong of [{ amount: '0' }, { amount: '1.5' }, { reason: ' ' }, { amount: '13' }]) {
    const refused = await operator.post(path, { ...fields, ...wrong });
    t.is(refused.status, 422, JSON.stringify(wrong));
    if (wrong.amount === '13') continue;
    t.is((await operator.post(`${path}/adjustment`, { ...fields, ...wrong })).status, 422);
  }
  const mistake = { amount: '-50', reason: 'a mistake', reference: randomUUID() };
  t.regex(
    mainText(await pageOf(t, await operator.post(`${path}/adjustment`, mistake))),
    /removes only 42 credits, .* shortfall of 8 credits, which suspends the account.* Balance 42 now, 0 after/,
  );
  t.is((await operator.post(path, mistake)).status, 303);
  t.regex(mainText(await pageOf(t, await owner.get(''))), /suspended: 8 credits/);
  t.is((await owner.post('/tools/hash-text', { text: 'a' })).status, 403);
});

test('operators find accounts by a part of the address, a key or an id, and calls by their ids', async (t) => {
  const operator = await newOperator(stack);
  const owner = await newOwner(stack);
  const key = await madeKey(owner, 'of the shop');
  const requestId = (await callWith(stack, key)).headers.get('x-request-id') ?? '';
  const { accountId, keyId, callId } = await withStore(stack, async ({ calls }) => {
    const call = (await calls.findOne({ requestId })) ?? t.fail('no call');
    return { accountId: call.accountId, keyId: call.keyId ?? '', callId: call._id };
  });
  const path = `/dashboard/operator/accounts/${accountId}`;

  const found = await pageOf(t, await search(operator, ` ${owner.email.slice(9, 30).toUpperCase()} `));
  t.is(rowsOf(found).length, 1);
  t.true(linksOf(found).includes(path));
  for (const nothing of [
    owner.email.replace('@', '.'),
    '(',
    '[a',
    '\\',
    '\0.*\0',
    'ut_!',
    'acc_none',
    'req_none',
  ]) {
    const response = await search(operator, nothing);
    t.is(response.status, 200, nothing);
    t.regex(mainText(await pageOf(t, response)), /Nothing was found/, nothing);
  }
  for (const beginning of [key.slice(0, 7), key.slice(0, 9), key]) {
    const page = await pageOf(t, await search(operator, beginning));
    t.true(linksOf(page).includes(`${path}#keys`), beginning);
    t.true(mainText(page).includes('of the shop'));
    t.false(mainText(page).includes(key));
  }
  const callPath = `/dashboard/operator/calls/${callId}`;
  for (const [id, to] of [
    [accountId, path],
    [keyId, `${path}#keys`],
    [callId, callPath],
    [requestId, callPath],
  ] as const) {
    const response = await search(operator, id);
    t.is(response.status, 303);
    t.is(response.headers.get('location'), to);
  }
  const call = await pageOf(t, await operator.get(`/operator/calls/${requestId}`));
  t.regex(
    mainText(call),
    new RegExp(`Outcome charged Tool hash-text Call id ${callId} Request id ${requestId}`),
  );
  t.true(linksOf(call).includes(path));
  t.is((await operator.get('/operator/calls/none')).status, 404);
});

test("an account's page shows operators its keys, calls, ledger, grants, webhooks, sessions and usage", async (t) => {
  const operator = await newOperator(stack);
  const owner = await newOwner(stack);
  const key = await madeKey(owner, 'of the shop');
  const requestId = (await callWith(stack, key)).headers.get('x-request-id') ?? '';
  await owner.post('/webhooks', { url: 'http://localhost:3999/shop', events: 'credits.low' });
  await signIn(stack.baseUrl, owner);
  const call = await withStore(stack, ({ calls }) => calls.findOne({ requestId }));
  const path = `/operator/accounts/${call?.accountId}`;
  await operator.post(path, { amount: '5', reason: 'for the wait', reference: randomUUID() });
  const page = await pageOf(t, await operator.get(path));
  const shown = mainText(page);
  for (const words of [
    /Sign-in owner, 2 active sessions/,
    /Balance 34 granted minus charged/,
    /1 call and 1 credit in 30 days, success 100 %/,
    /of the shop ut_\S+… key_\S+ all tools live/,
    /hash-text charged 1 /,
    /adjustment \+5 \+5 \S+@example\.com \w+ for the wait/,
    /http:\/\/localhost:3999\/shop active 0 of 20/,
  ])
    t.regex(shown, words);
  t.true(rowsOf(page).some((row) => /charge ?hash-text −1 29/.test(row)));
  t.true(linksOf(page).includes(`/dashboard/operator/calls/${call?._id}`));
  t.deepEqual(brokenAnchors(page), []);
});

test('operators page through the lists of an account and see who adjusted its credits; owners see only that an operator did', async (t) => {
  const operator = await newOperator(stack);
  const owner = await newOwner(stack);
  const paymentId = `test_${randomUUID()}`;
  const accountId = await withStore(stack, async (store) => {
    const accounts = createAccounts(store);
    const { _id } = (await accounts.findByEmail(owner.email)) ?? t.fail('no account');
    for (let i = 0; i < 27; i++)
      await accounts.grant({
        accountId: _id,
        type: 'adjustment',
        amount: 1,
        reference: `ticket ${i}`,
        reason: `reason ${i}`,
        operator: 'command line',
      });
    const fact = { kind: 'paid', accountId: _id, credits: 1000, amount: 900, test: true } as const;
    const report = { paymentId, source: paymentId, currency: 'EUR', fact };
    await createPayments(store, accounts).record(report);
    await store.notices.insertOne({
      _id: randomUUID(),
      accountId: _id,
      at: new Date(),
      tries: 1,
      dueAt: null,
      kind: 'balance',
      balance: 7,
      thresholds: [20],
    });
    return _id;
  });
  const path = `/operator/accounts/${accountId}`;
  await operator.post(path, { amount: '-2', reason: 'for the wait', reference: randomUUID() });
  const userId = await withStore(stack, async ({ db }) => {
    const user = await db.collection('users').findOne({ email: operator.email });
    return String(user?._id);
  });

  const page = await pageOf(t, await operator.get(path));
  t.deepEqual(brokenAnchors(page), []);
  const all = linksOf(page).filter((href) => href.startsWith(`/dashboard${path}/`));
  t.deepEqual(all, [`/dashboard${path}/ledger`, `/dashboard${path}/grants`]);
  for (const [list, words] of [
    ['grants', /^.* adjustment ?\+1 ?\+1 ?command line ?reason \d+$/],
    ['ledger', /^.* adjustment ?ticket \d+ ?command line ?\+1 ?\d+$/],
  ] as const) {
    const rows: string[] = [];
    let next: string | undefined = `/dashboard${path}/${list}`;
    while (next !== undefined) {
      const shown: Element[] = await pageOf(t, await operator.get(next.replace('/dashboard', '')));
      rows.push(...rowsOf(shown));
      next = linksOf(shown).find((href) => href.includes('cursor='));
    }
    t.is(new Set(rows.filter((row) => words.test(row))).size, 27, rows.join('\n'));
    const own = rows.filter((row) => row.includes(' −2 ')).join();
    t.true(own.includes(operator.email) && own.includes(userId), own);
  }
  t.is((await operator.get(`${path}/grants?cursor=zzz`)).status, 422);
  t.is((await operator.get('/operator/accounts/acc_none/grants')).status, 404);

  t.regex(mainText(await pageOf(t, await operator.get(`${path}/security`))), /Signed in/);
  t.regex(mainText(await pageOf(t, await operator.get(`${path}/notices`))), /balance below 20: 7 credits/);
  for (const list of ['keys', 'calls', 'webhooks'])
    t.regex(mainText(await pageOf(t, await operator.get(`${path}/${list}`))), /There are none/);
  const payments = await pageOf(t, await operator.get(`${path}/payments`));
  const receipt = linksOf(payments).find((href) => href.includes('/payments/')) ?? '';
  t.is(receipt, `/dashboard/operator/payments/${paymentId}`);
  const facts = mainText(await pageOf(t, await operator.get(receipt.replace('/dashboard', ''))));
  t.true(facts.includes(paymentId) && facts.includes(owner.email), facts);
  const pdf = await operator.get(`/operator/payments/${paymentId}/receipt.pdf`);
  t.is(pdf.headers.get('content-type'), 'application/pdf');
  t.is((await operator.get('/operator/payments/none')).status, 404);

  const ledger = mainText(await pageOf(t, await owner.get('/ledger')));
  t.regex(ledger, /adjustment by an operator/);
  const credits = mainText(await pageOf(t, await owner.get('/credits')));
  t.regex(credits, /adjustment by an operator/);
  const data = await (await owner.get('/settings/export.ndjson')).text();
  t.regex(data, /"byOperator":true/);
  for (const shown of [ledger, credits, data])
    for (const hidden of [operator.email, userId, 'reason 1', 'for the wait', 'command line'])
      t.false(shown.includes(hidden), hidden);
});

test('operators see sign-ups, revenue and what was paid back by day', async (t) => {
  const operator = await newOperator(stack);
  const owner = await newOwner(stack);
  const currency = 'XTS';
  await withStore(stack, async (store) => {
    const { _id: accountId = '' } = (await store.accounts.findOne({ email: owner.email })) ?? {};
    const payments = createPayments(store, createAccounts(store));
    const pay = async (amount: number, isTest = false) => {
      const paymentId = `pi_${randomUUID()}`;
      const fact = { kind: 'paid', accountId, credits: 10, amount, test: isTest } as const;
      await payments.record({ paymentId, source: paymentId, currency, fact });
      return paymentId;
    };
    const [first = ''] = [await pay(1200), await pay(300), await pay(9900, true)];
    const older = await pay(500);
    const before = new Date(Date.now() - 40 * 86_400_000);
    await store.payments.updateOne({ _id: older }, { $set: { paidAt: before } });
    await payments.record({
      ...{ paymentId: first, source: randomUUID(), currency },
      fact: { kind: 'refunded', amount: 200 },
    });
  });
  const rowOf = async (days: number, day: Date) => {
    const page = await pageOf(t, await operator.get(`/operator/sales?days=${days}`));
    const name = day.toISOString().slice(0, 10);
    return { text: mainText(page), row: rowsOf(page).find((row) => row.startsWith(name)) ?? '' };
  };
  const { text, row } = await rowOf(30, new Date());
  t.regex(text, /Revenue in XTS XTS\s15\.00 from 2 purchases, XTS\s2\.00 of it paid back or disputed/);
  t.regex(row, /^\S+ [1-9]\d* .*\b2 XTS\s15\.00 XTS\s2\.00/);
  const long = await rowOf(90, new Date(Date.now() - 40 * 86_400_000));
  t.regex(long.text, /XTS\s20\.00 from 3 purchases/);
  t.regex(long.row, /\b1 XTS\s5\.00 XTS\s0\.00/);
  t.is((await owner.get('/operator/sales')).status, 404);
});

test('operators see the queues of the last hour as charts and as a table', async (t) => {
  const operator = await newOperator(stack);
  const minute = Math.floor(Date.now() / 60_000) * 60_000;
  const at = new Date(minute - 30 * 60_000);
  await withStore(stack, ({ poolSamples }) =>
    poolSamples.insertOne({
      _id: at.toISOString(),
      at,
      queues: {
        orchestrator: { waiting: 0, calls: null, workers: 2 },
        'tools-cpu': { waiting: 3, calls: 7, workers: 2 },
      },
    }),
  );
  const page = await pageOf(t, await operator.get('/operator/pools'));
  const time = at.toISOString().slice(11, 16);
  const titles = page.filter(({ tagName }) => tagName === 'title').map(textOf);
  t.true(titles.includes(`${time}: 7 calls, 3 waiting`), titles.join('; '));
  t.true(titles.some((title) => title.includes('not sampled')));
  t.true(rowsOf(page).some((row) => row.includes(time) && row.includes('4 + 3 (2)')));
  t.regex(mainText(page), /pool tools-heavy failed/);
});
