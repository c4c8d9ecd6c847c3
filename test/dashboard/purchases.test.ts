import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ScheduleOverlapPolicy } from '@temporalio/client';
import test from 'ava';
import { parse } from 'parse5';
import { pino } from 'pino';
import Stripe from 'stripe';
import { createStripeService } from '../../api/billing/stripeService.ts';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { EnvError, readEnv } from '../../schemas/env.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createPayments } from '../../store/billing/payments.ts';
import { monthOf } from '../../store/ledger/allowance.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { newOwner, type Visitor, visitor } from '../helpers/dashboard.ts';
import { accountOf, auditWhenIdle } from '../helpers/ledgerCheck.ts';
import { attribute, CSP, elementsOf, linksOf, mainText, pageOf, textOf } from '../helpers/markup.ts';
import { readPdf } from '../helpers/office.ts';
import { readLog } from '../helpers/processLog.ts';
import { signIn } from '../helpers/session.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { type StripeMock, startStripeMock } from '../helpers/stripeMock.ts';
import { until } from '../helpers/until.ts';
import { makeUser } from '../helpers/users.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';
import { insertCalls } from '../store/ledgerFixtures.ts';

const KEY = 'sk_test_4eC39HqLyjWDarjtT1zdp7dc';
const SECRET = 'whsec_Ukm9N6tPFGOwFzSBlQTvvgnHO7d0CpFz';

let mock: StripeMock;
let stack: Stack;
/** Without Stripe, in production. */
let bare: Stack;
let store: Store;
/** Stripe's own examples of the objects in its events. */
let examples: { session: object; charge: object; dispute: object };

test.before(async (t) => {
  mock = await startStripeMock((line) => t.log(line));
  const env = {
    STRIPE_SECRET_KEY: KEY,
    STRIPE_WEBHOOK_SECRET: SECRET,
    STRIPE_API_URL: mock.url,
    CREDIT_PACKS: '1000:9.00 EUR,40:0.50eur',
    OPERATOR_NAME: 'Example Tools Ltd',
    OPERATOR_ADDRESS: '1 Example Street, Berlin',
    SUPPORT_EMAIL: 'help@tools.example',
    OPERATOR_VAT_ID: 'DE123456789',
    INVOICE_TAX_RATE: '19',
    INVOICE_REVERSE_CHARGE: 'Reverse charge: the buyer owes the tax.',
  };
  stack = await startStack({ pools: ['orchestrator'], env });
  bare = await startStack({ pools: [], env: { NODE_ENV: 'production', RATE_LIMIT: '1000' } });
  store = await openStore(stack.mongodbUri);
  const { hostname, port } = new URL(mock.url);
  const stripe = new Stripe(KEY, { host: hostname, port: Number(port), protocol: 'http' });
  const [session, charge, dispute] = await Promise.all([
    stripe.checkout.sessions.retrieve('cs_test_1'),
    stripe.charges.retrieve('ch_1'),
    stripe.disputes.retrieve('du_1'),
  ]);
  examples = { session, charge, dispute };
  mock.requests.length = 0;
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
  await bare?.stop();
  await mock?.stop();
});

type Fields = Record<string, unknown>;

const eventOf = (type: string, object: object): string =>
  JSON.stringify({
    id: `evt_${randomUUID()}`,
    object: 'event',
    api_version: Stripe.API_VERSION,
    created: Math.floor(Date.now() / 1000),
    livemode: false,
    type,
    data: { object },
  });

/** Signs like Stripe. */
const sign = (payload: string, secret = SECRET, timestamp = Math.floor(Date.now() / 1000)): string =>
  Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });

const deliver = (body: string, signature: string | null = sign(body)) =>
  fetch(`${stack.baseUrl}/stripe/webhook`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      ...(signature !== null && { 'Stripe-Signature': signature }),
    },
    body,
  });

async function textOfPdf(bytes: Uint8Array): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'receipt-'));
  try {
    await writeFile(join(folder, 'receipt.pdf'), bytes);
    return (await readPdf(join(folder, 'receipt.pdf'))).text;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A paid checkout, as in Stripe's event. */
const sessionOf = (accountId: string, paymentId: string, over: Fields = {}): object => ({
  ...examples.session,
  id: `cs_${paymentId}`,
  mode: 'payment',
  payment_status: 'paid',
  payment_intent: paymentId,
  client_reference_id: accountId,
  amount_total: 900,
  currency: 'eur',
  metadata: { accountId, credits: '1000', amount: '900', currency: 'EUR' },
  ...over,
});
const chargeOf = (paymentId: string, refunded: number, over: Fields = {}): object => ({
  ...examples.charge,
  payment_intent: paymentId,
  amount: 900,
  amount_refunded: refunded,
  refunded: refunded === 900,
  currency: 'eur',
  ...over,
});
const disputeOf = (paymentId: string, status: string, over: Fields = {}): object => ({
  ...examples.dispute,
  id: `du_${paymentId}`,
  payment_intent: paymentId,
  amount: 900,
  currency: 'eur',
  status,
  ...over,
});

async function balanceOf(accountId: string) {
  const { balance, shortfall } = await accountOf(store, accountId);
  return { balance, shortfall };
}

const newPayment = () => `pi_${randomUUID().replaceAll('-', '')}`;

async function shopOf(owner: Visitor) {
  const response = await owner.get('/credits');
  const policy = response.headers.get('content-security-policy');
  const elements = elementsOf(parse(await response.text()));
  const field = elements.find((element) => attribute(element, 'name') === 'reference');
  return { policy, elements, reference: (field && attribute(field, 'value')) ?? '' };
}

test.serial('a pack is bought on a Stripe page, once when the form is submitted twice', async (t) => {
  const owner = await newOwner(stack);
  const { policy, elements, reference } = await shopOf(owner);
  // Chromium checks the redirects of a form against the policy of its page.
  t.is(policy, CSP.replace("form-action 'self'", "form-action 'self' https://checkout.stripe.com"));
  t.notRegex(mainText(elements), /test checkout/i);
  const packs = elements.filter((element) => attribute(element, 'name') === 'pack');
  t.deepEqual(packs.map(textOf), ['1,000 credits for €9.00', '40 credits for €0.50']);

  mock.requests.length = 0;
  for (const pack of ['1000', '1000', '40']) {
    const sent = await owner.post('/credits/buy', { pack, reference });
    t.is(sent.status, 303);
    t.regex(sent.headers.get('location') ?? '', /^https:\/\/checkout\.stripe\.com\//);
  }
  t.deepEqual(
    mock.requests.map(({ path }) => path),
    Array(3).fill('/v1/checkout/sessions'),
  );
  const [first, second, third] = mock.requests;
  t.is(first?.authorization, `Bearer ${KEY}`);
  t.true(first?.idempotencyKey?.includes(reference));
  t.is(second?.idempotencyKey, first?.idempotencyKey);
  t.not(third?.idempotencyKey, first?.idempotencyKey);
  const accountId = (await store.accounts.findOne({ email: owner.email }))?._id ?? '';
  t.deepEqual(Object.fromEntries(first?.form ?? []), {
    mode: 'payment',
    'line_items[0][quantity]': '1',
    'line_items[0][price_data][currency]': 'eur',
    'line_items[0][price_data][unit_amount]': '900',
    'line_items[0][price_data][product_data][name]': '1000 credits',
    client_reference_id: accountId,
    'metadata[accountId]': accountId,
    'metadata[credits]': '1000',
    'metadata[amount]': '900',
    'metadata[currency]': 'EUR',
    customer_email: owner.email,
    success_url: `${stack.baseUrl}/dashboard/credits?done=paid`,
    cancel_url: `${stack.baseUrl}/dashboard/credits?done=cancelled`,
    'adaptive_pricing[enabled]': 'false',
  });
  for (const [done, words] of [
    ['paid', /Thank you/],
    ['cancelled', /You were not charged/],
  ] as const) {
    const back = elementsOf(parse(await (await owner.get(`/credits?done=${done}`)).text()));
    t.regex(mainText(back), words);
    t.regex(mainText(back), /Available 250 .* There are no purchases yet/);
  }
});

test.serial('failed requests to Stripe are retried, and a refusal is shown to the buyer', async (t) => {
  const owner = await newOwner(stack);
  const { reference } = await shopOf(owner);
  mock.requests.length = 0;
  mock.failNext(500);
  t.is((await owner.post('/credits/buy', { pack: '1000', reference })).status, 303);
  const keys = mock.requests.map(({ idempotencyKey }) => idempotencyKey);
  t.is(keys.length, 2);
  t.is(keys[0], keys[1]);
  mock.failNext(400);
  const refused = await owner.post('/credits/buy', { pack: '1000', reference });
  t.is(refused.status, 502);
  t.regex(await refused.text(), /Nothing was paid\. Try again later/);
});

/** Charges a call of an account with the ledger, as the orchestrator does. */
async function charge(accountId: string, price: number): Promise<void> {
  const ledger = createLedger(store, (error) => console.error(error));
  const call = {
    callId: randomUUID(),
    accountId,
    tool: 'hash-text',
    pool: 'cpu',
    price,
    maxRunning: null,
  } as const;
  await insertCalls(store, [call]);
  const held = await ledger.reserve(call);
  if (held.status !== 'held') throw new Error(held.status);
  await ledger.settle({ callId: call.callId, accountId, wanted: 'charged', nonce: held.nonce });
  await ledger.flush();
}

test.serial(
  'automatic top-ups pay with a saved card: once, also if Stripe fails or reports it again',
  async (t) => {
    const owner = await newOwner(stack);
    const accountId = (await store.accounts.findOne({ email: owner.email }))?._id ?? '';
    const { reference } = await shopOf(owner);
    mock.requests.length = 0;
    const form = { below: '200', topUpPack: '1000', monthlyLimit: '20', reference };
    const sent = await owner.post('/credits/top-up', form);
    t.regex(sent.headers.get('location') ?? '', /^https:\/\/checkout\.stripe\.com\//);
    const [customer, setup, ...more] = mock.requests;
    t.deepEqual(more, []);
    t.is(customer?.path, '/v1/customers');
    t.is(customer?.form.get('email'), owner.email);
    t.is(setup?.path, '/v1/checkout/sessions');
    for (const [field, value] of Object.entries({
      mode: 'setup',
      currency: 'eur',
      client_reference_id: accountId,
      'metadata[autoTopUp]': reference,
    }))
      t.is(setup?.form.get(field), value, field);
    t.regex(setup?.form.get('customer') ?? '', /^cus_/);
    const page = async () => mainText((await shopOf(owner)).elements);
    t.regex(await page(), /Automatic top-ups start when Stripe reports that your card is saved/);

    const done = sessionOf(accountId, newPayment(), {
      mode: 'setup',
      payment_intent: null,
      payment_status: 'no_payment_required',
      setup_intent: 'seti_1',
      metadata: { accountId, autoTopUp: reference },
    });
    mock.changeNext('/v1/setup_intents/seti_1', { customer: 'cus_1', payment_method: 'pm_1' });
    t.is((await deliver(eventOf('checkout.session.completed', done))).status, 200);
    t.regex(await page(), /Automatic top-ups are on: .*once, and spend at most €20\.00 in a calendar month/);

    mock.requests.length = 0;
    // Both attempts of the library fail.
    mock.failNext(500);
    mock.failNext(500);
    const paymentId = newPayment();
    mock.changeNext('/v1/payment_intents', {
      id: paymentId,
      status: 'succeeded',
      amount_received: 900,
      livemode: true,
    });
    await charge(accountId, 60);
    const booked = async () => (await balanceOf(accountId)).balance === 190 + 1000;
    await until('the credits are booked', async () => {
      // Ends the pause after the first attempt.
      await store.topUpRuns.updateMany(
        { accountId, state: 'charging', tries: 1 },
        { $set: { dueAt: new Date(0) } },
      );
      return booked();
    });
    const payments = mock.requests.filter(({ path }) => path === '/v1/payment_intents');
    t.is(payments.length, 3);
    const topUpId = payments[0]?.idempotencyKey;
    t.regex(topUpId ?? '', /^topup-ent_/);
    for (const { idempotencyKey, form: sentForm } of payments) {
      t.is(idempotencyKey, topUpId);
      for (const [field, value] of Object.entries({
        amount: '900',
        currency: 'eur',
        customer: 'cus_1',
        payment_method: 'pm_1',
        off_session: 'true',
        confirm: 'true',
        'metadata[topUp]': topUpId ?? '',
      }))
        t.is(sentForm.get(field), value, field);
    }
    const reported = {
      ...{ id: paymentId, object: 'payment_intent', amount: 900, amount_received: 900, currency: 'eur' },
      ...{
        livemode: true,
        metadata: { accountId, topUp: topUpId, credits: '1000', amount: '900', currency: 'EUR' },
      },
    };
    for (let i = 0; i < 2; i++)
      t.is((await deliver(eventOf('payment_intent.succeeded', reported))).status, 200);
    t.true(await booked());
    t.like(await store.payments.findOne({ _id: paymentId }), { accountId, invoiced: { amount: 900 } });
    t.is((await store.topUpRuns.find({ accountId }).toArray()).length, 1);

    mock.failNext(402, {
      type: 'card_error',
      code: 'card_declined',
      decline_code: 'insufficient_funds',
      message: 'No.',
    });
    await charge(accountId, 1000);
    const failed = await until('the card is declined', () =>
      store.topUpRuns.findOne({ accountId, state: 'failed' }),
    );
    t.is(failed.reason, 'declined');
    t.is((await store.autoTopUps.findOne({ _id: accountId }))?.declines, 1);
    const overview = mainText(await pageOf(t, await owner.get('')));
    t.regex(overview, /An automatic top-up was not made at .*The bank declined the payment\./);
  },
);

test.serial('a payment of a top-up that takes days is looked up, not made again', async (t) => {
  const { url } = mock;
  const service = createStripeService({
    secretKey: KEY,
    webhookSecret: SECRET,
    apiUrl: url,
    log: pino({ level: 'silent' }),
  });
  const payment = {
    pack: { credits: 1000, amount: 900, currency: 'EUR' },
    card: { customerId: 'cus_1', paymentMethodId: 'pm_1' },
    month: '2026-11',
    at: new Date(),
  };
  const topUp = { topUpId: `topup-${randomUUID()}`, accountId: 'acc_1', payment, isWanted: true };
  mock.requests.length = 0;
  mock.changeNext('/v1/payment_intents', { id: 'pi_slow', status: 'processing' });
  t.deepEqual(await service.charge(topUp), { status: 'processing', paymentId: 'pi_slow' });
  mock.changeNext('/v1/payment_intents/pi_slow', { id: 'pi_slow', status: 'succeeded', livemode: false });
  const paid = { status: 'paid', paymentId: 'pi_slow', test: true } as const;
  t.deepEqual(await service.charge({ ...topUp, paymentId: 'pi_slow' }), paid);

  // A day later Stripe may have forgotten the key. A request with it would pay again.
  const late = { ...topUp, payment: { ...payment, at: new Date(Date.now() - 24 * 3_600_000) } };
  const found = { id: 'pi_slow', object: 'payment_intent', status: 'succeeded', livemode: false };
  mock.changeNext('/v1/payment_intents?', {
    data: [{ ...found, metadata: { topUp: topUp.topUpId } }],
    has_more: false,
  });
  t.deepEqual(await service.charge(late), paid);
  mock.changeNext('/v1/payment_intents?', { data: [{ ...found, metadata: {} }], has_more: false });
  t.deepEqual(await service.charge(late), { status: 'failed', reason: 'unreachable' });
  mock.changeNext('/v1/payment_intents?', { data: [], has_more: false });
  t.deepEqual(await service.charge({ ...topUp, isWanted: false }), { status: 'unwanted' });
  t.is(mock.requests.filter(({ idempotencyKey }) => idempotencyKey !== undefined).length, 1);

  for (const [code, reason] of [
    ['authentication_required', 'authentication'],
    ['card_declined', 'declined'],
  ] as const) {
    mock.failNext(402, { type: 'card_error', code, message: 'No.' });
    t.deepEqual(await service.charge(topUp), { status: 'failed', reason });
  }
  mock.failNext(400, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: 'No such customer',
  });
  t.deepEqual(await service.charge(topUp), { status: 'failed', reason: 'refused' });
  for (let i = 0; i < 2; i++) mock.failNext(409, { type: 'invalid_request_error', message: 'in use' });
  await t.throwsAsync(service.charge(topUp), { message: /in use/ });
});

test('with Stripe configured there is no test checkout', async (t) => {
  const owner = await newOwner(stack);
  const { reference } = await shopOf(owner);
  t.is((await owner.post('/credits/test-checkout', { pack: '1000', reference })).status, 404);
  t.is((await owner.get(`/credits/test-checkout?pack=1000&reference=${reference}`)).status, 404);
  t.deepEqual(await store.payments.find({ _id: `test_${reference}` }).toArray(), []);
});

test('in production without Stripe nothing is sold, and payment reports are refused', async (t) => {
  const owner = await newOwner(bare);
  const shop = await pageOf(t, await owner.get('/credits'));
  t.regex(mainText(shop), /Credits are not sold here/);
  t.false(shop.some((element) => attribute(element, 'name') === 'pack'));
  const fields = { pack: '1000', reference: randomUUID() };
  t.is((await owner.post('/credits/buy', fields)).status, 404);
  t.is((await owner.post('/credits/test-checkout', fields)).status, 404);
  t.is((await owner.get(`/credits/test-checkout?${new URLSearchParams(fields)}`)).status, 404);
  t.regex(
    mainText(await pageOf(t, await owner.get('/credits'))),
    /Available 250 .* There are no purchases yet/,
  );
  const reported = await fetch(`${bare.baseUrl}/stripe/webhook`, { method: 'POST', body: '{}' });
  t.is(reported.status, 404);
});

test('an event with an invalid or expired signature changes nothing', async (t) => {
  const { accountId } = await makeAccount(stack, 5);
  const body = eventOf('checkout.session.completed', sessionOf(accountId, newPayment()));
  const now = Math.floor(Date.now() / 1000);
  for (const [name, signature, sent] of [
    ['no signature', null, body],
    ['no signature at all', 'nonsense', body],
    ['of another secret', sign(body, 'whsec_other'), body],
    ['old', sign(body, SECRET, now - 600), body],
    ['of another body', sign(body), body.replace('"1000"', '"9000"')],
    ['with a newer time written in', sign(body, SECRET, now - 600).replace(/t=\d+/, `t=${now}`), body],
    ['of another scheme', sign(body).replace('v1=', 'v0='), body],
  ] as const) {
    const response = await deliver(sent, signature);
    t.is(response.status, 400, name);
    t.like(await response.json(), { code: 'invalid_header' }, name);
  }
  const large = eventOf('checkout.session.completed', { padding: 'x'.repeat(300_000) });
  t.is((await deliver(large)).status, 413);
  t.deepEqual(await balanceOf(accountId), { balance: 5, shortfall: 0 });
});

test('a payment is booked once, however often and concurrently it is reported', async (t) => {
  const { accountId } = await makeAccount(stack, 5);
  const paymentId = newPayment();
  const body = eventOf('checkout.session.completed', sessionOf(accountId, paymentId));
  const again = eventOf('checkout.session.async_payment_succeeded', sessionOf(accountId, paymentId));
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => deliver(i % 3 === 0 ? again : body)),
  );
  for (const answer of answers) t.is(answer.status, 200);
  t.deepEqual(await balanceOf(accountId), { balance: 1005, shortfall: 0 });
  const events = await store.events.find({ accountId, event: 'credits.granted' }).toArray();
  t.deepEqual(
    events.map(({ data }) => data),
    [{ balance: 1005, amount: 1000, source: 'purchase', reference: paymentId }],
  );
  await until('the event was dispatched', async () =>
    store.events.findOne({ accountId, event: 'credits.granted', pending: { $exists: false } }),
  );
});

test('a delayed payment is booked when it succeeds', async (t) => {
  const { accountId } = await makeAccount(stack, 5);
  const paymentId = newPayment();
  const waiting = sessionOf(accountId, paymentId, { payment_status: 'unpaid' });
  t.is((await deliver(eventOf('checkout.session.completed', waiting))).status, 200);
  t.deepEqual(await balanceOf(accountId), { balance: 5, shortfall: 0 });
  const paid = sessionOf(accountId, paymentId);
  t.is((await deliver(eventOf('checkout.session.async_payment_succeeded', paid))).status, 200);
  t.deepEqual(await balanceOf(accountId), { balance: 1005, shortfall: 0 });
});

test('operators are told to refund a payment that was confirmed after its account was closed', async (t) => {
  const owner = await newOwner(stack);
  const { _id: accountId = '' } = (await store.accounts.findOne({ email: owner.email })) ?? {};
  const closed = await owner.post('/settings/close', { email: owner.email, password: owner.password });
  t.is(closed.status, 200);
  const paymentId = newPayment();
  const paid = eventOf('checkout.session.async_payment_succeeded', sessionOf(accountId, paymentId));
  for (let i = 0; i < 2; i++) t.is((await deliver(paid)).status, 200);
  t.deepEqual(await balanceOf(accountId), { balance: 1250, shortfall: 0 });
  const isLogged = async () => {
    const lines = (await readLog(stack, 'api')).filter(({ payment }) => payment === paymentId);
    return lines.length === 1 && String(lines[0]?.msg).includes('closed account');
  };
  await until('the payment is logged once', isLogged);

  const credentials = await makeUser(stack, 'operator');
  const operator = visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
  const page = await pageOf(t, await operator.get('/operator'));
  t.regex(mainText(page), /Payments to refund/);
  t.true(linksOf(page).includes(`/dashboard/operator/payments/${paymentId}`));
  const account = mainText(await pageOf(t, await operator.get(`/operator/accounts/${accountId}`)));
  t.regex(account, /Closed .* UTC.*to be refunded/);
  await deliver(eventOf('charge.refunded', chargeOf(paymentId, 900)));
  t.deepEqual(await balanceOf(accountId), { balance: 250, shortfall: 0 });
  t.false(mainText(await pageOf(t, await operator.get('/operator'))).includes(paymentId));
});

test('refunds and disputes deduct credits, and a won dispute restores them', async (t) => {
  const { accountId, call } = await makeAccount(stack, 5);
  const [one, two] = [newPayment(), newPayment()];
  const tell = async (type: string, object: object, balance: number, shortfall = 0) => {
    t.is((await deliver(eventOf(type, object))).status, 200);
    t.deepEqual(await balanceOf(accountId), { balance, shortfall }, type);
  };
  await tell('checkout.session.completed', sessionOf(accountId, one), 1005);
  await tell('charge.refunded', chargeOf(one, 90), 905);
  await tell('charge.refunded', chargeOf(one, 450), 505);
  await tell('charge.refunded', chargeOf(one, 90), 505);
  // The dispute arrives before its payment.
  await tell('charge.dispute.created', disputeOf(two, 'needs_response'), 505);
  await tell('checkout.session.completed', sessionOf(accountId, two), 505);
  await tell('charge.dispute.closed', disputeOf(two, 'won'), 1505);
  await tell('charge.dispute.created', disputeOf(two, 'needs_response'), 1505);
  // Spent credits cannot be deducted.
  const spent = { accountId, type: 'adjustment', amount: -1500, reference: 'spent', reason: null } as const;
  await createAccounts(store).grant(spent);
  await tell('charge.refunded', chargeOf(one, 900), 0, 495);
  t.is((await call('hash-text', { text: 'a' })).status, 403);
  await tell('checkout.session.completed', sessionOf(accountId, newPayment()), 505);
  t.is(await store.events.countDocuments({ accountId, event: 'credits.granted' }), 4);
});

test('unrelated or invalid reports are acknowledged and change nothing', async (t) => {
  const [{ accountId }, other] = [await makeAccount(stack, 5), await makeAccount(stack, 5)];
  const metadata = { accountId, credits: '1000', amount: '900', currency: 'EUR' };
  const booked = newPayment();
  await deliver(eventOf('checkout.session.completed', sessionOf(other.accountId, booked)));
  const completed = (over: Fields, paymentId = newPayment()) =>
    eventOf('checkout.session.completed', sessionOf(accountId, paymentId, over));
  for (const [name, body] of [
    ['another amount', completed({ amount_total: 901 })],
    ['another currency', completed({ currency: 'usd' })],
    ['another account', completed({ client_reference_id: other.accountId })],
    ['an unreadable order', completed({ metadata: { ...metadata, credits: '1e9' } })],
    ['no credits', completed({ metadata: { ...metadata, credits: '0' } })],
    [
      'an account that is not there',
      completed({
        client_reference_id: 'acc_none',
        metadata: { ...metadata, accountId: 'acc_none' },
      }),
    ],
    ['a sale of another seller', completed({ metadata: {}, client_reference_id: null })],
    ['a payment of another account', completed({}, booked)],
    ['a refund of an unknown payment', eventOf('charge.refunded', chargeOf(newPayment(), 900))],
    ['a refund without a payment', eventOf('charge.refunded', chargeOf('', 900, { payment_intent: null }))],
    ['a refund in another currency', eventOf('charge.refunded', chargeOf(booked, 900, { currency: 'usd' }))],
    ['an inquiry', eventOf('charge.dispute.created', disputeOf(booked, 'warning_needs_response'))],
    ['an event of another kind', eventOf('customer.created', { id: 'cus_1', object: 'customer' })],
  ] as const) {
    const response = await deliver(body);
    t.is(response.status, 200, name);
    t.deepEqual(await response.json(), { received: true }, name);
  }
  t.deepEqual(await balanceOf(accountId), { balance: 5, shortfall: 0 });
  t.deepEqual(await balanceOf(other.accountId), { balance: 1005, shortfall: 0 });
});

test('the schedule grants allowances, once a month however often it runs', async (t) => {
  await untilDayLasts();
  const { accountId, manage } = await makeAccount(stack, 5);
  await createAccounts(store).setMonthlyAllowance(accountId, 300);
  const env = readEnv(stack.env);
  const client = await connectClient(env, loadKeyring(env));
  try {
    // The allowance is granted even while a run that started before it was set is still active.
    await client.schedule.getHandle('allowance').trigger(ScheduleOverlapPolicy.BUFFER_ONE);
    await until('it is granted', async () => (await balanceOf(accountId)).balance === 305);
    const again = { workflowId: `allowance-${randomUUID()}`, taskQueue: 'orchestrator' };
    t.is(await client.workflow.execute('allowance', again), 0);
  } finally {
    await client.connection.close();
  }
  t.deepEqual(await balanceOf(accountId), { balance: 305, shortfall: 0 });
  t.like(await (await manage('/api/v1/account')).json(), { balance: 305, monthlyAllowance: 300 });
  const [event, ...more] = await store.events.find({ accountId, event: 'credits.granted' }).toArray();
  t.deepEqual(more, []);
  t.like(event?.data, {
    amount: 300,
    source: 'allowance',
    reference: monthOf(event?.createdAt ?? new Date()),
  });
  await until('the event was dispatched', async () =>
    store.events.findOne({ _id: event?._id ?? '', pending: { $exists: false } }),
  );
});

test('a purchase has a receipt as a page and as a PDF, and a link to the receipt of Stripe', async (t) => {
  await untilDayLasts();
  const owner = await newOwner(stack);
  const accountId = (await store.accounts.findOne({ email: owner.email }))?._id ?? '';
  const paymentId = newPayment();
  await deliver(eventOf('checkout.session.completed', sessionOf(accountId, paymentId)));
  await deliver(eventOf('charge.refunded', chargeOf(paymentId, 90)));
  const path = `/credits/receipts/${paymentId}`;
  const credits = (await shopOf(owner)).elements;
  t.true(linksOf(credits).includes(`/dashboard${path}`));
  t.regex(
    mainText(credits),
    /1,000 credits for €9\.00 €0\.009 per credit 40 screenshots, .* or 1,000 hashes 40 credits for €0\.50 €0\.0125 per credit 1 screenshot, /,
  );
  const page = await pageOf(t, await owner.get(path));
  const today = new Date().toISOString().slice(0, 10);
  const facts = [
    `Receipt number ${paymentId}`,
    `Date ${today} (UTC)`,
    'Seller Utility Tools',
    `Buyer ${owner.email}`,
    `Account ${accountId}`,
    'Item 1,000 credits, prepaid',
    'Total EUR 9.00',
    'Payment None (Stripe in test mode)',
    'Refunded EUR 0.90',
  ];
  for (const fact of facts) t.true(mainText(page).includes(fact), fact);

  const pdf = await owner.get(`${path}/receipt.pdf`);
  t.is(pdf.headers.get('content-type'), 'application/pdf');
  t.is(pdf.headers.get('content-disposition'), `attachment; filename="receipt-${paymentId}.pdf"`);
  const bytes = new Uint8Array(await pdf.arrayBuffer());
  const again = await (await owner.get(`${path}/receipt.pdf`)).arrayBuffer();
  t.deepEqual(new Uint8Array(again), bytes);
  const words = (await textOfPdf(bytes)).replaceAll(/\s/g, '');
  for (const fact of facts) t.true(words.includes(fact.replaceAll(' ', '')), fact);

  mock.requests.length = 0;
  const own = await owner.get(`${path}/stripe`);
  t.is(own.status, 303);
  t.regex(own.headers.get('location') ?? '', /^https:\/\/.*\/receipts\//);
  t.true(mock.requests[0]?.path.startsWith(`/v1/charges?payment_intent=${paymentId}&`));
  mock.failNext(400);
  const failed = await owner.get(`${path}/stripe`);
  t.is(failed.status, 502);
  t.regex(mainText(await pageOf(t, failed)), /receipt cannot be shown now/);

  const stranger = await newOwner(stack);
  for (const file of ['', '/receipt.pdf', '/stripe'])
    t.is((await stranger.get(`${path}${file}`)).status, 404, file);
});

test('a purchase has an invoice with the details of the buyer, as a page and as a PDF, and a credit note', async (t) => {
  await untilDayLasts();
  const owner = await newOwner(stack);
  const accountId = (await store.accounts.findOne({ email: owner.email }))?._id ?? '';
  const shop = async () => mainText((await shopOf(owner)).elements);
  t.regex(await shop(), /names only the id of your account\. Enter billing details before you buy/);
  const hostile = 'Käufer <b>& Söhne</b>';
  const details = { name: hostile, address: '2 Ring, Wien', country: 'at', vatId: 'at u12.345.678' };
  for (const [wrong, words] of [
    [{ name: ' ' }, /Name or company must be one line/],
    [{ country: 'A1' }, /Country must be the code of a country/],
    [{ vatId: '12' }, /VAT id must begin with a country code/],
  ] as const) {
    const refused = await owner.post('/credits/billing', { ...details, ...wrong });
    t.is(refused.status, 422);
    t.regex(mainText(await pageOf(t, refused)), words);
  }
  t.is((await owner.post('/credits/billing', details)).status, 303);
  t.true((await shop()).includes(`Each purchase gets an invoice, to ${hostile}.`));

  const paymentId = newPayment();
  const live = sessionOf(accountId, paymentId, { livemode: true });
  for (let i = 0; i < 3; i++) await deliver(eventOf('checkout.session.completed', live));
  await deliver(eventOf('charge.refunded', chargeOf(paymentId, 450)));
  await owner.post('/credits/billing', { ...details, name: 'Somebody else', vatId: '' });

  const links = linksOf((await shopOf(owner)).elements).filter((href) => href.includes('/invoices/'));
  const [path = '', note = ''] = links.map((href) => href.replace('/dashboard', ''));
  t.is(links.length, 2);
  t.regex(path, /\/INV-\d{6}$/);
  const today = new Date().toISOString().slice(0, 10);
  const facts = [
    `Number ${path.split('/').at(-1)}`,
    `Date ${today} (UTC)`,
    'Seller Example Tools Ltd',
    'Address 1 Example Street, Berlin',
    'VAT id of the seller DE123456789',
    `Buyer ${hostile}`,
    'Address 2 Ring, Wien, Austria',
    'VAT id of the buyer ATU12345678',
    'Item 1,000 credits, prepaid',
    'Net EUR 9.00',
    'VAT 0 % EUR 0.00',
    'Total EUR 9.00',
    'Reverse charge: the buyer owes the tax.',
  ];
  const page = await pageOf(t, await owner.get(path));
  for (const fact of facts) t.true(mainText(page).includes(fact), fact);
  const pdf = await owner.get(`${path}/invoice.pdf`);
  t.is(
    pdf.headers.get('content-disposition'),
    `attachment; filename="invoice-${path.split('/').at(-1)}.pdf"`,
  );
  const words = (await textOfPdf(new Uint8Array(await pdf.arrayBuffer()))).replaceAll(/\s/g, '');
  for (const fact of facts) t.true(words.includes(fact.replaceAll(' ', '')), fact);

  const corrected = mainText(await pageOf(t, await owner.get(note)));
  t.true(corrected.includes(`For invoice ${path.split('/').at(-1)}`));
  t.regex(corrected, /^.*Credit note .*Number CN-\d{6} .*Total EUR -4\.50/);
  t.true(corrected.includes(hostile));
  const receipt = await pageOf(t, await owner.get(`/credits/receipts/${paymentId}`));
  t.true(linksOf(receipt).includes(`/dashboard${path}`));

  // Names in letters that the fonts of the PDF do not have are on the page only.
  await owner.post('/credits/billing', { ...details, name: 'Łódź' });
  const second = newPayment();
  await deliver(eventOf('checkout.session.completed', sessionOf(accountId, second)));
  const other = (await store.payments.findOne({ _id: second }))?.invoiced?.numbers[0] ?? '';
  const printed = mainText(await pageOf(t, await owner.get(`/credits/invoices/${other}`)));
  t.regex(printed, /Number TEST-INV-\d{6} .*Buyer Łódź .*Print this page instead/);
  t.true(printed.includes('a test payment: no money was moved. It is not a tax invoice.'));
  t.is((await owner.get(`/credits/invoices/${other}/invoice.pdf`)).status, 404);

  const stranger = await newOwner(stack);
  for (const file of ['', '/invoice.pdf']) t.is((await stranger.get(`${path}${file}`)).status, 404);
  const operatorPath = path.replace('/credits/', '/operator/');
  t.is((await owner.get(operatorPath)).status, 404);
  const credentials = await makeUser(stack, 'operator');
  const operator = visitor(stack, await signIn(stack.baseUrl, credentials), credentials);
  const seen = await pageOf(t, await operator.get(`/operator/payments/${paymentId}`));
  t.true(linksOf(seen).includes(`/dashboard${operatorPath}`));
  t.true(mainText(await pageOf(t, await operator.get(operatorPath))).includes('Total EUR 9.00'));
});

test('without invoices a receipt says that it is no tax invoice, and there are no billing details', async (t) => {
  const owner = await newOwner(bare);
  t.is((await owner.get('/credits/billing')).status, 404);
  t.notRegex(mainText(await pageOf(t, await owner.get('/credits'))), /invoice/);
  await withStore(bare, async (own) => {
    const accounts = createAccounts(own);
    const accountId = (await accounts.findByEmail(owner.email))?._id ?? '';
    const fact = { kind: 'paid', accountId, credits: 10, amount: 100, test: false } as const;
    await createPayments(own, accounts).record({ paymentId: 'pi_bare', source: 'e', currency: 'EUR', fact });
  });
  const receipt = mainText(await pageOf(t, await owner.get('/credits/receipts/pi_bare')));
  t.true(receipt.includes('This is a receipt. It is not a tax invoice.'));
});

test('an invalid configuration is reported at the start, with the name of the variable', (t) => {
  for (const CREDIT_PACKS of [
    '1000',
    '1000:9 USD',
    '0:9.00 USD',
    '1000:0.00 USD',
    '1000:9.00 XQQ',
    '1000:900.00 JPY',
    '10:1.00 USD,10:2.00 USD',
    ',',
  ])
    t.throws(
      () => readEnv({ CREDIT_PACKS }),
      { instanceOf: EnvError, message: /^CREDIT_PACKS: must / },
      CREDIT_PACKS,
    );
  t.deepEqual(readEnv({ CREDIT_PACKS: 'off' }).CREDIT_PACKS, []);
  const operator = { OPERATOR_NAME: 'A', SUPPORT_EMAIL: 'a@b.example' };
  const address = { OPERATOR_ADDRESS: '1 Street' };
  for (const [source, message] of [
    [{ ...operator, INVOICE_TAX_RATE: '19' }, /^INVOICE_TAX_RATE: requires OPERATOR_ADDRESS/],
    [{ ...operator, ...address, INVOICE_TAX_RATE: '100' }, /^INVOICE_TAX_RATE: must be a percentage/],
    [{ ...operator, ...address, OPERATOR_VAT_ID: 'DE1' }, /^OPERATOR_VAT_ID: must be a VAT id/],
    [
      { ...operator, ...address, OPERATOR_VAT_ID: 'DE123456789' },
      /^OPERATOR_VAT_ID: requires INVOICE_TAX_RATE/,
    ],
    [
      { ...operator, ...address, INVOICE_TAX_RATE: '8.1', INVOICE_REVERSE_CHARGE: 'x' },
      /^INVOICE_REVERSE_CHARGE: requires OPERATOR_VAT_ID/,
    ],
  ] as const)
    t.throws(() => readEnv(source), { instanceOf: EnvError, message }, JSON.stringify(source));
  t.is(readEnv({ ...operator, ...address, INVOICE_TAX_RATE: '8.1' }).INVOICE_TAX_RATE, 810);
  for (const alone of [{ STRIPE_SECRET_KEY: KEY }, { STRIPE_WEBHOOK_SECRET: SECRET }])
    t.throws(() => readEnv(alone), { instanceOf: EnvError, message: /^STRIPE_SECRET_KEY: .*set both/ });
});

test.after('the audit finds no drift', async (t) => {
  t.deepEqual(await auditWhenIdle(store), []);
});
