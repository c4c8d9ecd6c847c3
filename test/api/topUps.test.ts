import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import Stripe from 'stripe';
import { CREDENTIAL_HEADER, signChallenge } from '../../api/topUps/challenge.ts';
import { createTopUpService } from '../../api/topUps/topUpService.ts';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { readEnv } from '../../schemas/env.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { createTopUps } from '../../store/billing/topUps.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { newOwner } from '../helpers/dashboard.ts';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { accountOf, auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import { callMessage, ERAS, type Era, messageOf } from '../helpers/mcp.ts';
import { readLog } from '../helpers/processLog.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import {
  intentOf,
  type ProviderPayment,
  startTokenProvider,
  type TokenProvider,
} from '../helpers/tokenProvider.ts';
import { mppx } from '../provision/items/mppx.ts';

const SECRET = 'whsec_Ukm9N6tPFGOwFzSBlQTvvgnHO7d0CpFz';
const PACK = { credits: 100, amount: 150, currency: 'USD' };
const TEXT = { text: 'abc' };

let provider: TokenProvider;
let stack: Stack;
let store: Store;

test.before(async () => {
  provider = await startTokenProvider();
  const env = {
    STRIPE_SECRET_KEY: 'sk_test_4eC39HqLyjWDarjtT1zdp7dc',
    STRIPE_WEBHOOK_SECRET: SECRET,
    STRIPE_API_URL: provider.url,
    STRIPE_NETWORK_ID: 'profile_test',
    CREDIT_PACKS: '5000:60.00 USD,100:1.50 USD',
  };
  stack = await startStack({ pools: ['orchestrator', 'cpu'], env });
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
  await provider?.stop();
});

/** An account without credits, whose owner permits programs to buy some. */
async function permitting(ceiling = 250): Promise<TestAccount> {
  const account = await makeAccount(stack, 0);
  await createTopUps(store).setCeiling(account.accountId, ceiling);
  return account;
}

const newToken = (outcome = 'paid'): string => `spt_${outcome}_${randomUUID().replaceAll('-', '')}`;

/** The parameters of a challenge. */
function challengeIn(response: Response): Record<string, string> {
  const header = response.headers.get('WWW-Authenticate') ?? '';
  return Object.fromEntries([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
}

/** The header that answers a challenge. */
const answerTo = (challenge: object, spt: string): Record<string, string> => ({
  'Payment-Authorization': `Payment ${Buffer.from(JSON.stringify({ challenge, payload: { spt } })).toString('base64url')}`,
});

/** Checks that a call was refused with this code. Returns the detail of the problem. */
async function isRefused(
  t: ExecutionContext,
  response: Response,
  code = 'insufficient_credits',
): Promise<string> {
  const problem = recordAt(await response.json());
  t.is(problem.code, code);
  if (code === 'insufficient_credits') t.like(problem, { status: 402, available: 0, cost: 1 });
  t.is(response.status, Number(problem.status));
  t.is(response.headers.get('X-Credits-Charged'), '0');
  t.is(response.headers.get('Payment-Receipt'), null);
  return String(problem.detail);
}

/** Calls a tool without enough credits. Returns the parameters of the challenge. */
async function challenged(t: ExecutionContext, account: TestAccount): Promise<Record<string, string>> {
  const response = await account.call('hash-text', TEXT);
  const challenge = challengeIn(response);
  await isRefused(t, response);
  return challenge;
}

const decoded = (text: string | null | undefined): Json =>
  recordAt(JSON.parse(Buffer.from(text ?? '', 'base64url').toString()));

/** The purchases of an account, in the ledger. */
const purchasesOf = ({ accountId }: TestAccount) =>
  store.entries.find({ accountId, type: 'purchase' }).toArray();

const paymentsOf = ({ accountId }: TestAccount): ProviderPayment[] =>
  provider.payments.filter(({ metadata }) => metadata.accountId === accountId);

/** Checks that the account has bought one pack, once. */
async function isPaidOnce(t: ExecutionContext, account: TestAccount, spent: number): Promise<void> {
  const [payment, ...others] = paymentsOf(account);
  t.is(others.length, 0);
  t.like(payment, { amount: PACK.amount, currency: 'usd', status: 'succeeded' });
  t.deepEqual(
    (await purchasesOf(account)).map(({ amount, reference }) => ({ amount, reference })),
    [{ amount: PACK.credits, reference: payment?.id ?? '' }],
  );
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
  const { balance, topUps } = await accountOf(store, account.accountId);
  t.is(balance, PACK.credits - spent);
  t.is(topUps?.credits, PACK.credits);
}

/** The credential in `_meta` of a request over MCP. */
const credentialOf = (challenge: object, spt: string): Json => ({
  'org.paymentauth/credential': { challenge, payload: { spt } },
});

/** The data of a call over MCP that can be paid, and the code of its error; null: it is a result. */
function dataOf(era: Era, message: Json): { code: unknown; data: Json } {
  const { code, data } = recordAt(message, 'error');
  if (era === 'legacy') return { code, data: recordAt(data) };
  return { code: null, data: recordAt(message, 'result', '_meta', 'org.paymentauth/payment-required') };
}

/** Reports a payment as Stripe does. */
function report(payment: ProviderPayment): Promise<Response> {
  const payload = JSON.stringify({
    id: `evt_${randomUUID()}`,
    object: 'event',
    created: Math.floor(Date.now() / 1000),
    livemode: false,
    type: 'payment_intent.succeeded',
    data: { object: intentOf(payment) },
  });
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET });
  return fetch(`${stack.baseUrl}/stripe/webhook`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Stripe-Signature': signature },
    body: payload,
  });
}

test('a client of the scheme pays for its call within the same exchange', async (t) => {
  t.timeout(600_000);
  const account = await permitting();
  const packages = await mppx.get((line) => t.log(line));
  const load = (path: string) => import(pathToFileURL(join(packages, 'node_modules/mppx/dist', path)).href);
  const { Mppx, stripe } = await load('client/index.js');
  const asked: Json[] = [];
  const createToken = async (request: Json) => {
    asked.push(request);
    return newToken();
  };
  const client = Mppx.create({
    methods: [stripe.charge({ createToken, paymentMethod: 'pm_card_visa' })],
    polyfill: false,
  });
  const response: Response = await client.fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.toolsKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(TEXT),
  });
  t.is(response.status, 200, await response.clone().text());
  t.regex(String((await response.json()).hash), /^ba7816bf/);
  t.is(response.headers.get('X-Credits-Remaining'), String(PACK.credits - 1));
  t.is(response.headers.get('Cache-Control'), 'no-store');
  t.like(asked, [{ amount: '150', currency: 'usd', networkId: 'profile_test' }]);
  const [entry] = await purchasesOf(account);
  const receipt = decoded(response.headers.get('Payment-Receipt'));
  t.like(receipt, {
    status: 'success',
    method: 'stripe',
    reference: entry?.reference,
    ledgerEntry: entry?._id,
    timestamp: entry?.at.toISOString(),
    credits: PACK.credits,
  });
  await isPaidOnce(t, account, 1);
});

test('an owner permits it, with a ceiling per month, and without that there is no challenge', async (t) => {
  const owner = await newOwner(stack);
  t.regex(await (await owner.get('/credits')).text(), /Programs cannot buy credits/);
  const refused = await owner.post('/credits/top-ups', { ceiling: '-1' });
  t.is(refused.status, 422);
  const saved = await owner.post('/credits/top-ups', { ceiling: '150' });
  t.is(saved.headers.get('Location'), '/dashboard/credits?done=top-ups');
  t.regex(await (await owner.get('/credits')).text(), /0 credits<?.* of at most .*150 credits/s);

  const closed = await permitting(0);
  const response = await closed.call('hash-text', TEXT);
  t.is(response.headers.get('WWW-Authenticate'), null);
  await isRefused(t, response);
  // A ceiling below the smallest pack permits none.
  const low = await permitting(PACK.credits - 1);
  t.is((await low.call('hash-text', TEXT)).headers.get('WWW-Authenticate'), null);
});

test('credentials that do not answer the challenge, or are refused, buy nothing', async (t) => {
  const [account, other] = [await permitting(), await permitting()];
  const challenge = await challenged(t, account);
  const cheap = { ...decoded(challenge.request), amount: '1' };
  const many = { ...decoded(challenge.opaque), credits: '5000' };
  const expired = signChallenge(loadKeyring(readEnv(stack.env)), {
    realm: String(challenge.realm),
    method: 'stripe',
    intent: 'charge',
    request: {
      amount: '150',
      currency: 'usd',
      description: '100 credits',
      methodDetails: { networkId: 'profile_test', paymentMethodTypes: ['card'] },
    },
    expires: new Date(Date.now() - 1000).toISOString(),
    header: CREDENTIAL_HEADER,
    opaque: { account: account.accountId, credits: '100' },
  });
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const forged: [string, Record<string, string>][] = [
    ['of another account', answerTo(await challenged(t, other), newToken())],
    ['with another price', answerTo({ ...challenge, request: encode(cheap) }, newToken())],
    ['with other credits', answerTo({ ...challenge, opaque: encode(many) }, newToken())],
    ['with another expiry', answerTo({ ...challenge, expires: '2099-01-01T00:00:00.000Z' }, newToken())],
    ['with another id', answerTo({ ...challenge, id: `${challenge.id}x` }, newToken())],
    ['expired', answerTo(expired, newToken())],
    ['with an unknown key id', answerTo({ ...challenge, id: 'x:y' }, newToken())],
    ['without a token', answerTo(challenge, 'x')],
    ['malformed', { 'Payment-Authorization': 'Payment e30' }],
    ['of another scheme', { 'Payment-Authorization': 'Bearer x' }],
  ];
  for (const [name, headers] of forged) {
    const response = await account.call('hash-text', TEXT, headers);
    t.true(challengeIn(response).id !== undefined, name);
    t.regex(await isRefused(t, response), /payment was refused/, name);
  }
  t.is(paymentsOf(account).length, 0);

  for (const outcome of ['declined', 'action']) {
    const again = await challenged(t, account);
    const answer = answerTo(again, newToken(outcome));
    t.regex(await isRefused(t, await account.call('hash-text', TEXT, answer)), /payment was refused/);
    // It was answered, so that not even a good token can pay it.
    await isRefused(t, await account.call('hash-text', TEXT, answerTo(again, newToken())));
  }
  t.deepEqual(
    paymentsOf(account).map(({ status }) => status),
    ['canceled'],
  );
  t.like(await accountOf(store, account.accountId), { balance: 0, topUps: { credits: 0 } });
  t.is((await purchasesOf(account)).length, 0);
  const log = JSON.stringify(await readLog(stack, 'api'));
  t.true(log.includes('a payment by a program was refused'));
  t.false(`${log}${JSON.stringify(await store.topUps.find().toArray())}`.includes('spt_'), 'no token stays');
});

test('a challenge is paid once, and purchases end at the ceiling', async (t) => {
  const account = await permitting();
  const answer = answerTo(await challenged(t, account), newToken());
  const keyed = (key: string) => ({ ...answer, 'Idempotency-Key': key });
  const first = await Promise.all(['a', 'b', 'c'].map((key) => account.call('hash-text', TEXT, keyed(key))));
  const paid = first.filter(({ status }) => status === 200).length;
  t.true(paid >= 1);
  // A repetition is a replay, and pays nothing.
  const again = await account.call('hash-text', TEXT, keyed('a'));
  t.is(again.status, 200);
  const { balance } = await accountOf(store, account.accountId);
  await isPaidOnce(t, account, PACK.credits - balance);

  await store.accounts.updateOne({ _id: account.accountId }, { $set: { balance: 0 } });
  await account.call('hash-text', TEXT, answerTo(await challenged(t, account), newToken()));
  t.is(paymentsOf(account).length, 2);
  await store.accounts.updateOne({ _id: account.accountId }, { $set: { balance: 0 } });
  // 200 of 250 credits are bought, and the smallest pack has 100.
  t.is((await account.call('hash-text', TEXT)).headers.get('WWW-Authenticate'), null);
  // They stay counted if the owner forbids purchases and permits them again.
  const { setCeiling } = createTopUps(store);
  for (const ceiling of [0, 250]) await setCeiling(account.accountId, ceiling);
  t.is((await account.call('hash-text', TEXT)).headers.get('WWW-Authenticate'), null);
  await setCeiling(account.accountId, 300);
  t.not((await account.call('hash-text', TEXT)).headers.get('WWW-Authenticate'), null);
});

test('a payment above the limit of a minute is not begun, and counts in no ceiling', async (t) => {
  const { accountId } = await permitting();
  const unused = () => Promise.reject(new Error('no request to Stripe is made'));
  const service = createTopUpService({
    topUps: createTopUps(store),
    payments: { record: unused },
    findEntry: unused,
    stripe: { chargeToken: unused },
    limitPayments: () => Promise.reject(new ServiceError('rate_limited')),
    keyring: loadKeyring(readEnv(stack.env)),
    packs: [PACK],
    networkId: 'profile_test',
    publicUrl: () => stack.baseUrl,
  });
  const account = await accountOf(store, accountId);
  const challenge = service.challengeFor(account, 1, 'mcp');
  t.not(challenge, null);
  const credential = { challenge, payload: { spt: newToken() } };
  const error = await t.throwsAsync(service.pay(account, credential, 'mcp'), { instanceOf: ServiceError });
  t.is(error.code, 'rate_limited');
  t.is((await accountOf(store, accountId)).topUps?.credits, 0);
  t.is(await store.topUps.countDocuments({ accountId }), 0);
});

for (const era of ERAS)
  test(`an agent pays over MCP, as a client of the revision ${era}`, async (t) => {
    const account = await permitting();
    const send = async (meta: Json): Promise<Json> => {
      const { headers, body } = callMessage(era, 'hash-text', TEXT, meta);
      const response = await fetch(`${stack.baseUrl}/mcp`, {
        method: 'POST',
        headers: { ...headers, Authorization: `Bearer ${account.toolsKey}` },
        body,
      });
      return messageOf(await response.text());
    };
    const [required, refused] = [await send({}), await send(credentialOf({}, newToken()))].map((message) =>
      dataOf(era, message),
    );
    const [challenge = {}] = recordsAt(required?.data.challenges);
    t.like(challenge, { method: 'stripe', intent: 'charge', request: { amount: '150', currency: 'usd' } });
    t.is(recordAt(required?.data.problem).code, 'insufficient_credits');
    t.regex(String(recordAt(refused?.data.failure).detail), /payment was refused/);
    t.deepEqual([required?.code, refused?.code], era === 'legacy' ? [-32_042, -32_043] : [null, null]);

    const forged = { ...challenge, request: { ...recordAt(challenge, 'request'), amount: '1' } };
    t.truthy(dataOf(era, await send(credentialOf(forged, newToken()))).data.failure);
    // A challenge over MCP cannot be answered over HTTP.
    await isRefused(t, await account.call('hash-text', TEXT, answerTo(challenge, newToken())));

    const result = recordAt(await send(credentialOf(challenge, newToken())), 'result');
    t.like(recordAt(result, 'structuredContent'), { algorithm: 'sha256' });
    const [entry] = await purchasesOf(account);
    t.like(recordAt(result, '_meta', 'org.paymentauth/receipt'), {
      status: 'success',
      challengeId: challenge.id,
      ledgerEntry: entry?._id,
    });
    await isPaidOnce(t, account, 1);
  });

test.serial('a payment counts once, though the API is killed after the money was taken', async (t) => {
  t.timeout(180_000);
  for (const first of ['client', 'event'] as const) {
    const account = await permitting();
    const answer = answerTo(await challenged(t, account), newToken());
    const held = provider.holdNext();
    const lost = account.call('hash-text', TEXT, answer).then(
      () => t.fail(),
      () => undefined,
    );
    const { payment, release } = await held;
    await stack.kill('api');
    release();
    await lost;
    await stack.restart('api');
    t.is((await purchasesOf(account)).length, 0);
    const repeat = async () => {
      const response = await account.call('hash-text', TEXT, { ...answer, 'Idempotency-Key': 'k' });
      t.is(response.status, 200);
    };
    const steps = { client: repeat, event: async () => t.is((await report(payment)).status, 200) };
    const order = first === 'client' ? (['client', 'event'] as const) : (['event', 'client'] as const);
    for (const step of [...order, ...order]) await steps[step]();
    await isPaidOnce(t, account, 1);
  }
});

test.serial('a payment whose outcome is unknown can be repeated', async (t) => {
  const account = await permitting();
  const answer = answerTo(await challenged(t, account), newToken());
  // The package repeats a request once, except for the last of these.
  for (const [status, type, times] of [
    [500, 'api_error', 2],
    [409, 'invalid_request_error', 2],
    [400, 'idempotency_error', 1],
  ] as const) {
    for (let time = 0; time < times; time++) provider.failNext(status, type);
    await isRefused(t, await account.call('hash-text', TEXT, answer), 'tool_unavailable');
  }
  t.is((await purchasesOf(account)).length, 0);
  t.is((await account.call('hash-text', TEXT, answer)).status, 200);
  await isPaidOnce(t, account, 1);
});
