import test, { type ExecutionContext } from 'ava';
import { RateLimiterMongo } from 'rate-limiter-flexible';
import { CHANGES_PER_DAY } from '../../api/account/changeLimit.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { recordAt } from '../helpers/json.ts';
import { accountOf, auditWhenIdle, callsOf, untilHeld } from '../helpers/ledgerCheck.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';

const RATE = 5;
const BURST = 10;
/** Maximum number of running calls per account and pool. */
const MAX_RUNNING = 64;
/** Maximum number of 401 responses per client address and minute. */
const MAX_FAILURES = 60;

let stack: Stack;
let store: Store;

test.before(async () => {
  stack = await startStack({
    apis: 2,
    pools: ['orchestrator', 'cpu', 'network'],
    env: { RATE_LIMIT: `${RATE}:${BURST}`, TRIAL_CREDITS: '3' },
  });
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

/** Sends a request that counts against the rate limit like a call, but is refused before a tool runs. */
const ask = (account: Pick<TestAccount, 'call'>, headers?: Record<string, string>) =>
  account.call('hash-text', {}, headers);

/**
 * Sets the number of tokens in a bucket. The bucket does not refill until it is used again, because the time of its
 * last use is set to the future.
 */
const fill = (id: string, tokens: number) =>
  store.buckets.updateOne(
    { _id: id },
    { $set: { tokens, taken: true, at: new Date(Date.now() + 3_600_000) } },
    { upsert: true },
  );

/** Submits a form of the landing page. */
async function trialCall(
  baseUrl: string,
  tool: string,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
) {
  const init = { method: 'POST', body: new URLSearchParams(fields), headers };
  const response = await fetch(`${baseUrl}/try/${tool}`, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function isLimited(t: ExecutionContext, response: Response, retryAfter: string): void {
  t.is(response.status, 429);
  t.is(response.headers.get('Retry-After'), retryAfter);
  t.is(response.headers.get('X-Credits-Charged'), '0');
}

test.serial('a burst is limited over all API processes together, and the bucket refills', async (t) => {
  const account = await makeAccount(stack, 100);
  const began = performance.now();
  const responses = await Promise.all(
    Array.from({ length: 40 }, (_, i) => ask(account.at(stack.baseUrls[i % 2] ?? ''))),
  );
  const refilled = Math.ceil(((performance.now() - began) / 1000) * RATE);
  const passed = responses.filter(({ status }) => status === 422).length;
  const refused = responses.filter(({ status }) => status === 429);
  t.is(passed + refused.length, 40);
  t.true(passed >= BURST && passed <= BURST + refilled, `${passed} passed, at most ${BURST} + ${refilled}`);
  for (const response of responses)
    t.is(response.headers.get('RateLimit-Policy'), `"account";q=${BURST};w=${BURST / RATE}`);
  for (const response of refused) {
    isLimited(t, response, '1');
    t.like(await response.json(), { code: 'rate_limited' });
    t.regex(response.headers.get('RateLimit') ?? '', /^"account";r=\d;t=[0-2]$/);
  }
  await store.buckets.updateMany({}, [{ $set: { at: { $subtract: ['$$NOW', 1000] } } }]);
  t.is((await ask(account)).status, 422);
  t.is((await accountOf(store, account.accountId)).balance, 100);
  t.is((await callsOf(store, account.accountId)).length, 0);
});

test.serial(
  'a request refused for its scope takes a token and reports the quota; the scope error takes precedence over the rate limit',
  async (t) => {
    const account = await makeAccount(stack, 100);
    const { key } = await account.addKey({ tools: ['ping'] });
    const answers = [];
    for (let i = 0; i <= BURST; i++)
      answers.push(await ask(account, { Authorization: `Bearer ${i % 2 === 0 ? key : account.accountKey}` }));
    for (const { status, headers } of answers) {
      t.is(status, 403);
      t.regex(headers.get('RateLimit') ?? '', /^"account";r=\d;t=[0-2]$/);
    }
    await fill(`account:${account.accountId}`, 5.5);
    const { headers } = await ask(account, { Authorization: `Bearer ${key}` });
    t.is(headers.get('RateLimit'), '"account";r=4;t=2', 'a refused request takes a token');
  },
);

test.serial('the headers report the remaining quota and the time until it is full', async (t) => {
  const account = await makeAccount(stack, 100);
  const first = await account.call('hash-text', { text: 'first' });
  t.is(first.status, 200);
  t.is(first.headers.get('RateLimit'), '"account";r=9;t=1');
  t.is(first.headers.get('RateLimit-Policy'), '"account";q=10;w=2');

  const bucket = `account:${account.accountId}`;
  for (const [tokens, status, limit] of [
    [10, 422, '"account";r=9;t=1'],
    [6.5, 422, '"account";r=5;t=1'],
    [5.9, 422, '"account";r=4;t=2'],
    [1, 422, '"account";r=0;t=2'],
    [0.9, 429, '"account";r=0;t=2'],
  ] as const) {
    await fill(bucket, tokens);
    const response = await ask(account);
    t.is(response.status, status, String(tokens));
    t.is(response.headers.get('RateLimit'), limit, String(tokens));
    t.is(response.headers.get('Retry-After'), status === 429 ? '1' : null);
  }
  // A response to a request without an API key contains no rate limit headers of an account.
  const stranger = await fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, { method: 'POST' });
  t.is(stranger.status, 401);
  t.is(stranger.headers.get('RateLimit'), null);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial(
  'a key with a limit has its own bucket, and a refusal by one bucket takes no token from another',
  async (t) => {
    const account = await makeAccount(stack, 100);
    const limited = await account.addKey({ rateLimit: RATE });
    const withLimit = { Authorization: `Bearer ${limited.key}` };

    await fill(`account:${account.accountId}`, BURST);
    await fill(`key:${limited.id}`, 0);
    isLimited(t, await ask(account, withLimit), '1');
    const kept = await ask(account);
    t.is(kept.status, 422);
    t.is(kept.headers.get('RateLimit'), '"account";r=9;t=1');

    await fill(`account:${account.accountId}`, 0);
    await fill(`key:${limited.id}`, BURST);
    isLimited(t, await ask(account, withLimit), '1');
    t.is((await store.buckets.findOne({ _id: `key:${limited.id}` }))?.tokens, BURST);
    t.is(await store.buckets.findOne({ _id: { $regex: '^key:', $ne: `key:${limited.id}` } }), null);
  },
);

test.serial('an address with many invalid keys is limited, but valid keys from it are not', async (t) => {
  const account = await makeAccount(stack, 100);
  const bad = () => ask(account, { Authorization: 'Bearer ut_nonsense' });
  const statuses: number[] = [];
  let last = await bad();
  for (let i = 0; last.status === 401 && i <= MAX_FAILURES; i++) {
    statuses.push(last.status);
    last = await bad();
  }
  t.true(statuses.length > 0 && statuses.length <= MAX_FAILURES);
  t.is(last.status, 429);
  t.true(Number(last.headers.get('Retry-After')) >= 1);
  t.is(
    (await account.at(stack.baseUrls[1] ?? '').call('hash-text', {}, { Authorization: 'Bearer no' })).status,
    429,
  );
  const good = await account.call('hash-text', { text: 'good' });
  t.is(good.status, 200);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('visitors can try tools without an account, within limits by day and by address', async (t) => {
  await untilDayLasts();
  const owner = await makeAccount(stack, 100);
  const attempt = (tool: string, fields: Record<string, string>, api = 0, headers = {}) =>
    trialCall(stack.baseUrls[api] ?? '', tool, fields, headers);
  const elsewhere = await attempt('hash-text', { text: 'abc' }, 0, { Origin: 'https://example.com' });
  t.is(elsewhere.status, 403);
  t.regex(elsewhere.text, /submitted from another site/);

  const hashed = await attempt('hash-text', { text: 'abc', algorithm: 'sha1', unknown: 'x' });
  t.is(hashed.status, 200);
  t.regex(hashed.text, /a9993e364706816aba3e25717850c26c9cd0d89d/);
  t.is(hashed.headers.get('Cache-Control'), 'no-store');
  const code = await attempt('qr-generate', { text: '"><script>' }, 1);
  t.regex(code.text, /<img class="symbol" src="data:image\/png;base64,iVBORw0KGgo/);
  t.notRegex(code.text, /"><script>/);
  t.is((await attempt('qr-generate', { text: 'x'.repeat(501) })).status, 422);
  t.is((await attempt('hash-text', { text: 'abc', algorithm: 'none' })).status, 422);
  t.is((await attempt('dns-lookup', { hostname: 'example.com' })).status, 404);

  t.is((await attempt('hash-text', { text: 'abc' }, 1)).status, 200);
  const spent = await attempt('hash-text', { text: 'abc' });
  t.is(spent.status, 429);
  t.regex(spent.text, /trial calls of today have all been used/);
  t.true(Number(spent.headers.get('Retry-After')) <= 86_400);
  const trial = await accountOf(store, 'acc_trial');
  t.is(trial.balance, 0);
  t.is((await callsOf(store, 'acc_trial')).length, 3);
  const entries = await store.entries.find({ accountId: 'acc_trial' }).sort({ seq: 1 }).toArray();
  t.deepEqual(
    entries.map(({ type, amount }) => [type, amount]),
    [
      ['allowance', 3],
      ['charge', -1],
      ['charge', -1],
      ['charge', -1],
    ],
  );

  const statuses = new Set<number>();
  for (let i = 0; i < 14; i++) statuses.add((await attempt('qr-generate', {}, i % 2)).status);
  t.deepEqual([...statuses], [422]);
  const beyond = await attempt('qr-generate', {});
  t.is(beyond.status, 429);
  t.regex(beyond.text, /20 trial calls per hour/);
  t.is((await owner.call('hash-text', { text: 'abc' })).status, 200);
  t.is((await accountOf(store, owner.accountId)).balance, 99);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('requests of the Account API and tool calls count against the same limit', async (t) => {
  const account = await makeAccount(stack, 0);
  const balance = () => account.manage('/api/v1/account');
  t.is((await balance()).headers.get('RateLimit-Policy'), `"account";q=${BURST};w=${BURST / RATE}`);
  const bucket = `account:${account.accountId}`;
  await fill(bucket, 1);
  t.is((await balance()).headers.get('RateLimit'), '"account";r=0;t=2', 'a token is taken');
  await fill(bucket, 0);
  const refused = await balance();
  t.is(refused.status, 429);
  t.is(refused.headers.get('Retry-After'), '1');
  await fill(bucket, 0);
  isLimited(t, await ask(account), '1');
});

test.serial(
  'changes of keys and webhook endpoints are limited per account and day, and revoking is not',
  async (t) => {
    const [account, other] = [await makeAccount(stack, 0), await makeAccount(stack, 0)];
    const { id } = await account.addKey({});
    const counter = new RateLimiterMongo({
      storeClient: store.client,
      dbName: store.db.databaseName,
      tableName: 'attempts',
      keyPrefix: 'account-change',
      points: CHANGES_PER_DAY,
      duration: 86_400,
    });
    await counter.penalty(account.accountId, CHANGES_PER_DAY - 1);
    const paths = '/api/v1/account/keys';
    const newKey = { name: 'one more', scopes: ['tools'] };
    t.is((await account.manage(paths, newKey)).status, 201);
    const refused = await account.manage(paths, newKey);
    t.is(refused.status, 429);
    t.true(Number(refused.headers.get('Retry-After')) > 3600);
    t.regex(String(recordAt(await refused.json()).detail), /300 times a day/);
    const endpoint = { url: 'http://localhost:9/', events: ['credits.low'] };
    t.is((await account.manage('/api/v1/account/webhooks', endpoint)).status, 429);
    t.is((await account.manage(`${paths}/${id}`, undefined, { method: 'DELETE' })).status, 204);
    t.is((await other.manage(paths, newKey)).status, 201);
  },
);

test.serial('the default rate limit is twenty calls per second with bursts of forty', async (t) => {
  const plain = await startStack({ pools: [], env: { RATE_LIMIT: '' } });
  try {
    const response = await ask(await makeAccount(plain, 1));
    t.is(response.headers.get('RateLimit-Policy'), '"account";q=40;w=2');
    t.is(response.headers.get('RateLimit'), '"account";r=39;t=1');
  } finally {
    await plain.stop();
  }
});

test.serial(
  'the number of running calls per account and pool, and of trial calls, is limited without affecting other accounts',
  async (t) => {
    const wide = await startStack({
      apis: 2,
      pools: ['orchestrator', 'cpu', 'network'],
      env: { RATE_LIMIT: '1000:1000', POOL_WAIT: '80s' },
    });
    const wideStore = await openStore(wide.mongodbUri);
    try {
      const [busy, other] = await Promise.all([makeAccount(wide, 200), makeAccount(wide, 5)]);
      await wide.kill('cpu');
      const fills = Array.from({ length: MAX_RUNNING + 6 }, (_, i) =>
        busy.at(wide.baseUrls[i % 2] ?? '').call('hash-text', { text: `${i}` }),
      );
      await untilHeld(wideStore, busy.accountId, MAX_RUNNING);
      const beyond = await busy.call('hash-text', { text: 'beyond' }, { 'Idempotency-Key': 'k' });
      isLimited(t, beyond, '1');
      t.like(await beyond.json(), { code: 'rate_limited' });
      const elsewhere = other.call('hash-text', { text: 'mine' });
      const inOtherPool = await busy.call('dns-lookup', { hostname: 'internal.local' });
      t.is(inOtherPool.status, 422);
      await untilHeld(wideStore, other.accountId, 1);
      // Two trial calls run at a time in each API process; the others are refused.
      const trials = Array.from({ length: 4 }, () => trialCall(wide.baseUrl, 'hash-text', { text: 'abc' }));
      const refusals = trials.map(async (trial) => (await trial).status === 503 || Promise.reject());
      t.true(await Promise.any(refusals));
      await untilHeld(wideStore, 'acc_trial', 2);
      await wide.restart('cpu');

      const statuses = (await Promise.all(fills)).map(({ status }) => status);
      t.is(statuses.filter((status) => status === 200).length, MAX_RUNNING);
      t.is(statuses.filter((status) => status === 429).length, 6);
      t.is((await elsewhere).status, 200);
      const endings = (await Promise.all(trials)).map(({ status }) => status);
      t.deepEqual(endings.sort(), [200, 200, 503, 503]);
      const retried = await busy.call('hash-text', { text: 'beyond' }, { 'Idempotency-Key': 'k' });
      t.is(retried.status, 200);
      t.is(retried.headers.get('Idempotent-Replayed'), null);
      t.deepEqual(await auditWhenIdle(wideStore), []);
      t.is((await accountOf(wideStore, busy.accountId)).balance, 200 - MAX_RUNNING - 1);
    } finally {
      await wideStore.close();
      await wide.stop();
    }
  },
);
