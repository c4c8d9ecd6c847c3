import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { accountOf, auditAccountWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { connectMcp } from '../helpers/mcp.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';

type Row = Record<string, unknown>;

const KEYS = '/api/v1/account/keys';
const RATE = 20;
const BURST = 400;
/** A tool of the cpu pool and its price. */
const TOOL = 'qr-generate';
const PRICE = 1;
const BODY = { text: 'a' };

let stack: Stack;
let store: Store;

test.before(async () => {
  stack = await startStack({
    apis: 1,
    pools: ['orchestrator', 'cpu'],
    env: { RATE_LIMIT: `${RATE}:${BURST}`, TRUST_PROXY: 'true' },
  });
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

const json = async (response: Response) => JSON.parse(await response.text());

/** A key that was created through the API, and a function that calls the tool with it. */
async function createKey(account: TestAccount, body: Row = {}) {
  const response = await account.manage(KEYS, { name: 'n', scopes: ['tools'], ...body });
  const { key, ...row } = await json(response);
  if (response.status !== 201) throw new Error(JSON.stringify(row));
  return { id: String(row.id), key: String(key), row };
}

const call = (key: string, headers: Record<string, string> = {}, body: unknown = BODY) =>
  fetch(`${stack.baseUrl}/api/v1/tools/${TOOL}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const change = (account: TestAccount, id: string, body: Row) =>
  account.manage(`${KEYS}/${id}`, undefined, {
    method: 'PATCH',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
  });
const rowOf = async (account: TestAccount, id: string) => json(await account.manage(`${KEYS}/${id}`));
const rotate = (account: TestAccount, id: string, body: Row = {}) =>
  account.manage(`${KEYS}/${id}/rotate`, body);
const from = (address: string) => ({ 'X-Forwarded-For': address });

async function refuses(t: ExecutionContext, response: Response, status: number, code: string) {
  const problem = await json(response);
  t.deepEqual([response.status, problem.code], [status, code]);
  return problem;
}

test('a new key reports its limits; without limits every field is null', async (t) => {
  const account = await makeAccount(stack, 10);
  const limits = {
    dailyBudget: 5,
    monthlyBudget: 50,
    rateLimit: 3,
    allowedNetworks: ['127.0.0.1', '2001:db8::/32'],
  };
  const { id, row } = await createKey(account, limits);
  const nothing = { spentToday: 0, spentThisMonth: 0, lastUsedFrom: null, previousSecret: null };
  t.like(row, { ...limits, ...nothing });
  t.deepEqual(await rowOf(account, id), row);
  const none = { dailyBudget: null, monthlyBudget: null, rateLimit: null, allowedNetworks: null };
  t.like((await createKey(account)).row, { ...none, ...nothing });
});

test('invalid limits are refused with the position of each fault', async (t) => {
  const account = await makeAccount(stack, 0);
  const { id } = await createKey(account);
  const cases: [Row, ...string[]][] = [
    [{ dailyBudget: 0 }, '/dailyBudget'],
    [{ dailyBudget: 1.5 }, '/dailyBudget'],
    [{ monthlyBudget: -1 }, '/monthlyBudget'],
    [{ monthlyBudget: '5' }, '/monthlyBudget'],
    [{ rateLimit: 0 }, '/rateLimit'],
    [{ allowedNetworks: [] }, '/allowedNetworks'],
    [{ allowedNetworks: ['10.0.0.0/8', '10.0.0.1/8', 'x'] }, '/allowedNetworks/1', '/allowedNetworks/2'],
    [{ expiresAt: '2020-01-01T00:00:00Z' }, '/expiresAt'],
    [{ tools: ['no-such'] }, '/tools/0'],
    [{ spentToday: 0 }, '/spentToday'],
  ];
  for (const [body, ...pointers] of cases)
    for (const response of [
      await account.manage(KEYS, { name: 'n', scopes: ['tools'], ...body }),
      await change(account, id, body),
    ]) {
      const { errors } = await refuses(t, response, 422, 'invalid_input');
      t.deepEqual(errors.map(({ pointer }: Row) => pointer).sort(), pointers, JSON.stringify(body));
    }
  await refuses(t, await change(account, id, {}), 422, 'invalid_input');
  await refuses(t, await change(account, id, { scopes: ['account'] }), 422, 'invalid_input');
  const budget = { name: 'n', scopes: ['account'], dailyBudget: 5 };
  await refuses(t, await account.manage(KEYS, budget), 422, 'invalid_input');
});

test('concurrent calls never exceed the daily budget of a key; refused calls cost nothing', async (t) => {
  await untilDayLasts();
  const account = await makeAccount(stack, 100);
  const { id, key } = await createKey(account, { dailyBudget: 5 });
  const responses = await Promise.all(Array.from({ length: 20 }, () => call(key)));
  const passed = responses.filter(({ status }) => status === 200);
  t.is(passed.length, 5);
  for (const response of responses.filter(({ status }) => status !== 200)) {
    t.is(response.headers.get('X-Credits-Charged'), '0');
    const { budget, cost, detail } = await refuses(t, response, 402, 'key_budget_exceeded');
    t.like(budget, { period: 'day', credits: 5, spent: 5 });
    t.is(cost, PRICE);
    t.regex(budget.resetsAt, /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/);
    t.true(
      Date.parse(budget.resetsAt) > Date.now() && Date.parse(budget.resetsAt) <= Date.now() + 86_400_000,
    );
    t.regex(detail, /budget of 5 credits per day/);
  }
  t.like(await rowOf(account, id), { spentToday: 5, spentThisMonth: 5 });
  t.is((await accountOf(store, account.accountId)).balance, 95);

  // A refusal before the workflow starts leaves no call behind.
  const before = (await callsOf(store, account.accountId)).length;
  await refuses(t, await call(key), 402, 'key_budget_exceeded');
  t.is((await callsOf(store, account.accountId)).length, before);

  t.is((await call(account.toolsKey)).status, 200, 'another key of the account');
  t.is((await change(account, id, { dailyBudget: 6 })).status, 200);
  t.is((await call(key)).status, 200);
  await refuses(t, await call(key), 402, 'key_budget_exceeded');
  await change(account, id, { dailyBudget: null, monthlyBudget: 7 });
  t.is((await call(key)).status, 200);
  const { budget } = await refuses(t, await call(key), 402, 'key_budget_exceeded');
  t.like(budget, { period: 'month', credits: 7, spent: 7 });
  t.deepEqual(await auditAccountWhenIdle(store, account.accountId), []);
});

test('what a key spent before it had a budget counts', async (t) => {
  await untilDayLasts();
  const account = await makeAccount(stack, 100);
  const { id, key } = await createKey(account);
  for (let i = 0; i < 3; i++) t.is((await call(key)).status, 200);
  await change(account, id, { monthlyBudget: 3 });
  await refuses(t, await call(key), 402, 'key_budget_exceeded');
});

test('a failed call gives the budget back, and a repeated request with its Idempotency-Key does not spend it again', async (t) => {
  await untilDayLasts();
  const account = await makeAccount(stack, 100);
  const { id, key } = await createKey(account, { dailyBudget: 1 });
  // Text that does not fit into a QR code of this size is found only when the tool runs.
  const failed = await call(key, {}, { text: 'x'.repeat(2900), errorCorrection: 'H' });
  t.true(failed.status >= 400, `${failed.status}`);
  await until('the refund is complete', async () => (await rowOf(account, id)).spentToday === 0);
  const headers = { 'Idempotency-Key': randomUUID() };
  const first = await call(key, headers);
  t.is(first.status, 200);
  const again = await call(key, headers);
  t.is(again.status, 200);
  t.is(again.headers.get('Idempotent-Replayed'), 'true');
  t.like(await rowOf(account, id), { spentToday: 1 });
  // A refusal for the budget releases the Idempotency-Key.
  const next = { 'Idempotency-Key': randomUUID() };
  await refuses(t, await call(key, next), 402, 'key_budget_exceeded');
  await change(account, id, { dailyBudget: 2 });
  const released = await call(key, next);
  t.is(released.status, 200);
  t.is(released.headers.get('Idempotent-Replayed'), null);
});

test('agents get the same refusal through MCP', async (t) => {
  await untilDayLasts();
  const account = await makeAccount(stack, 100);
  const { key } = await createKey(account, { dailyBudget: 1 });
  await using connection = await connectMcp(stack.baseUrl, key);
  const ok = await connection.client.callTool({ name: TOOL, arguments: BODY });
  t.not(ok.isError, true);
  const refused = await connection.client.callTool({ name: TOOL, arguments: BODY });
  t.true(refused.isError);
  t.like(refused.structuredContent, { code: 'key_budget_exceeded', status: 402, retryable: false });
});

test('a key is refused outside of its networks, for tools, the Account API and MCP', async (t) => {
  const account = await makeAccount(stack, 100);
  const { id, key } = await createKey(account, { allowedNetworks: ['192.0.2.0/24', '2001:db8::/32'] });
  for (const address of ['192.0.2.9', '::ffff:192.0.2.9', '2001:db8::9'])
    t.is((await call(key, from(address))).status, 200, address);
  const problem = await refuses(t, await call(key, from('198.51.100.1')), 403, 'network_not_allowed');
  t.notRegex(JSON.stringify(problem), /192\.0\.2|198\.51/);
  for (const address of ['2001:db9::1', 'unknown'])
    await refuses(t, await call(key, from(address)), 403, 'network_not_allowed');
  const mcp = await fetch(`${stack.baseUrl}/mcp`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...from('198.51.100.1') },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });
  await refuses(t, mcp, 403, 'network_not_allowed');
  const owner = await createKey(account, { scopes: ['account'], allowedNetworks: ['192.0.2.1'] });
  const get = (address: string) =>
    fetch(`${stack.baseUrl}/api/v1/account`, {
      headers: { Authorization: `Bearer ${owner.key}`, ...from(address) },
    });
  t.is((await get('192.0.2.1')).status, 200);
  await refuses(t, await get('192.0.2.2'), 403, 'network_not_allowed');

  t.is((await change(account, id, { allowedNetworks: null })).status, 200);
  t.is((await call(key, from('198.51.100.1'))).status, 200);
  t.is((await accountOf(store, account.accountId)).balance, 96);
});

test('the last use has the address of the client; a refused one is no use', async (t) => {
  const account = await makeAccount(stack, 100);
  const { id, key } = await createKey(account, { allowedNetworks: ['192.0.2.0/24'] });
  t.is((await call(key, from('::ffff:192.0.2.77'))).status, 200);
  await refuses(t, await call(key, from('198.51.100.1')), 403, 'network_not_allowed');
  await until('the use is written', async () => (await rowOf(account, id)).lastUsedAt !== null);
  t.like(await rowOf(account, id), { lastUsedFrom: '192.0.2.77' });
});

test('refusals for the network are limited per client address, which does not affect valid requests', async (t) => {
  const account = await makeAccount(stack, 100);
  const { key } = await createKey(account, { allowedNetworks: ['192.0.2.0/24'] });
  const address = from('203.0.113.99');
  const statuses = [];
  for (let i = 0; i < 61; i++) statuses.push((await call(key, address)).status);
  t.deepEqual(statuses, [...Array(60).fill(403), 429]);
  t.is((await call(account.toolsKey, address)).status, 200);
});

test("a key's own rate limit applies below that of the account and is reported", async (t) => {
  const account = await makeAccount(stack, 100);
  const { key } = await createKey(account, { rateLimit: 1 });
  const own = BURST / RATE; // the same duration of a burst as the account has
  const answers = await Promise.all(Array.from({ length: own * 2 }, () => call(key, {}, {})));
  const limited = answers.filter(({ status }) => status === 429);
  t.true(limited.length > 0 && limited.length <= own, `${limited.length}`);
  for (const response of answers)
    t.is(response.headers.get('RateLimit-Policy'), `"account";q=${BURST};w=20, "key";q=${own};w=20`);
  t.regex(limited[0]?.headers.get('RateLimit') ?? '', /^"account";r=\d+;t=\d+, "key";r=0;t=20$/);
  t.is((await call(account.toolsKey, {}, {})).status, 422, 'another key of the account');

  const high = await createKey(account, { rateLimit: 10_000 });
  const response = await call(high.key, {}, {});
  t.is(
    response.headers.get('RateLimit-Policy'),
    `"account";q=${BURST};w=20, "key";q=${BURST};w=20`,
    'never above the limit of the account',
  );
});

test('a rotated key has two valid secrets with the same spend; revoking it ends both', async (t) => {
  await untilDayLasts();
  const account = await makeAccount(stack, 100);
  const { id, key: old } = await createKey(account, { dailyBudget: 4 });
  t.is((await call(old)).status, 200);
  const response = await rotate(account, id, { overlapHours: 2 });
  t.is(response.status, 200);
  t.is(response.headers.get('cache-control'), 'no-store');
  const { key: fresh, ...row } = await json(response);
  t.regex(fresh, /^ut_[0-9A-Za-z]{36}$/);
  t.not(fresh, old);
  t.like(row, { id, prefix: fresh.slice(0, 9), previousSecret: { prefix: old.slice(0, 9) }, spentToday: 1 });
  const hours = (Date.parse(row.previousSecret.expiresAt) - Date.now()) / 3_600_000;
  t.true(hours > 1.9 && hours <= 2);
  t.is((await call(old)).status, 200);
  t.is((await call(fresh)).status, 200);
  const { items } = await json(await account.manage('/api/v1/account/calls?limit=3'));
  t.deepEqual(
    items.map(({ keyPrefix }: Row) => keyPrefix),
    [fresh.slice(0, 9), old.slice(0, 9), old.slice(0, 9)],
    'the usage shows which secret is still in use',
  );
  await refuses(t, await rotate(account, id), 409, 'rotation_pending');
  t.is((await call(old)).status, 200);
  await refuses(t, await call(fresh), 402, 'key_budget_exceeded');

  const forced = await json(await rotate(account, id, { overlapHours: 0, force: true }));
  for (const ended of [old, fresh]) await refuses(t, await call(ended), 401, 'invalid_api_key');
  await change(account, id, { dailyBudget: null });
  t.is((await call(forced.key)).status, 200);
  const last = await json(await rotate(account, id));
  t.is((await account.manage(`${KEYS}/${id}`, undefined, { method: 'DELETE' })).status, 204);
  for (const ended of [forced.key, last.key]) await refuses(t, await call(ended), 401, 'invalid_api_key');
  await refuses(t, await rotate(account, id), 409, 'key_inactive');
  await refuses(t, await change(account, id, { name: 'x' }), 409, 'key_inactive');
});

test('a changed expiry applies to the next request, and an expired key cannot be restored', async (t) => {
  const account = await makeAccount(stack, 100);
  const { id, key } = await createKey(account);
  t.is((await change(account, id, { expiresAt: new Date(Date.now() + 8000).toISOString() })).status, 200);
  await until('the key has expired', async () => (await call(key)).status === 401);
  await refuses(t, await change(account, id, { expiresAt: null }), 409, 'key_inactive');
});

test("changes fire events without secrets, and another account's key is reported as not found", async (t) => {
  const [owner, other] = [await makeAccount(stack, 10), await makeAccount(stack, 10)];
  const { id } = await createKey(owner);
  t.is((await change(owner, id, { name: 'renamed', tools: ['hash-text'] })).status, 200);
  const { key } = await json(await rotate(owner, id));
  const { items } = await json(await owner.manage('/api/v1/account/events?limit=2'));
  t.deepEqual(items.map(({ event, data }: Row) => [event, data]).sort(), [
    ['api_key.changed', { keyId: id, name: 'renamed', prefix: items[1].data.prefix }],
    ['api_key.rotated', { keyId: id, name: 'renamed', prefix: key.slice(0, 9) }],
  ]);
  await refuses(t, await other.manage(`${KEYS}/${id}`), 404, 'not_found');
  await refuses(t, await change(other, id, { name: 'x' }), 404, 'not_found');
  await refuses(t, await rotate(other, id), 404, 'not_found');
});
