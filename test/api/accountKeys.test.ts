import test from 'ava';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { useStack } from '../helpers/profiles.ts';

type Row = Record<string, unknown>;

const KEYS = '/api/v1/account/keys';
const HOUR_MS = 3_600_000;

const stack = await useStack();
test.after.always(() => stack.stop());

const json = async (response: Response) => JSON.parse(await response.text());

async function problem(response: Response): Promise<{ status: number; code: string; pointers: string[] }> {
  const { code, errors = [] } = await json(response);
  return { status: response.status, code, pointers: errors.map(({ pointer }: Row) => pointer).sort() };
}

const create = (account: TestAccount, body: Row) => account.manage(KEYS, body);
const revoke = (account: TestAccount, id: string) =>
  account.manage(`${KEYS}/${id}`, undefined, { method: 'DELETE' });
const rows = async (account: TestAccount): Promise<Row[]> =>
  (await json(await account.manage(`${KEYS}?limit=100`))).items;

const get = (path: string, key: string) =>
  fetch(`${stack.baseUrl}${path}`, { headers: { Authorization: `Bearer ${key}` } });
const hash = (key: string) =>
  fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: '{"text":"a"}',
  });

test('a new key is shown once and valid immediately, and appears in the key list and the event list', async (t) => {
  const account = await makeAccount(stack, 10);
  const expiresAt = new Date(Date.now() + HOUR_MS).toISOString();
  const body = { name: 'site "é" 😀', scopes: ['tools'], tools: ['hash-text', 'qr-generate'], expiresAt };
  const response = await create(account, body);
  t.is(response.status, 201);
  t.is(response.headers.get('cache-control'), 'no-store');
  const { key, ...row } = await json(response);
  t.regex(key, /^ut_[0-9A-Za-z]{36}$/);
  const { id, createdAt, ...rest } = row;
  t.deepEqual(rest, {
    ...body,
    prefix: key.slice(0, 9),
    lastUsedAt: null,
    lastUsedFrom: null,
    revokedAt: null,
    dailyBudget: null,
    monthlyBudget: null,
    rateLimit: null,
    allowedNetworks: null,
    spentToday: 0,
    spentThisMonth: 0,
    previousSecret: null,
  });
  t.true(Math.abs(Date.now() - Date.parse(createdAt)) < HOUR_MS);
  t.is((await hash(key)).status, 200);

  const [listed] = await rows(account);
  const unused = { lastUsedAt: null, lastUsedFrom: null, spentToday: 0, spentThisMonth: 0 };
  t.deepEqual({ ...listed, ...unused }, row);
  const { items } = await json(await account.manage('/api/v1/account/events?limit=1'));
  t.like(items[0], { event: 'api_key.created', deliveries: [] });
  t.deepEqual(items[0].data, { keyId: id, name: body.name, prefix: row.prefix });

  for (const path of ['keys', 'events', 'calls', 'ledger']) {
    const text = await (await account.manage(`/api/v1/account/${path}?limit=100`)).text();
    t.false(text.includes(key) || text.includes(account.accountKey) || /[0-9a-f]{64}/.test(text), path);
  }
});

test('tools and expiresAt default to null, which means all tools and no expiry', async (t) => {
  const account = await makeAccount(stack, 10);
  const response = await create(account, { name: 'n', scopes: ['account'] });
  t.is(response.status, 201);
  const row = await json(response);
  t.like(row, { name: 'n', scopes: ['account'], tools: null, expiresAt: null });
  t.is((await get('/api/v1/account', row.key)).status, 200);
});

test('a revoked key is refused on the next call', async (t) => {
  const account = await makeAccount(stack, 10);
  const { id, key } = await json(await create(account, { name: 'gone soon', scopes: ['tools'] }));
  t.is((await hash(key)).status, 200);
  const response = await revoke(account, id);
  t.is(response.status, 204);
  t.is(await response.text(), '');
  t.like(await problem(await hash(key)), { status: 401, code: 'invalid_api_key' });

  const row = (await rows(account)).find((candidate) => candidate.id === id);
  t.true(Date.parse(String(row?.revokedAt)) <= Date.now());
  t.is((await revoke(account, id)).status, 204);
  const { items } = await json(await account.manage('/api/v1/account/events'));
  const revoked = items.filter(({ event }: Row) => event === 'api_key.revoked');
  t.deepEqual(
    revoked.map(({ data }: Row) => data),
    [{ keyId: id, name: 'gone soon', prefix: key.slice(0, 9) }],
  );
});

test('a key can revoke itself', async (t) => {
  const account = await makeAccount(stack, 0);
  const own = (await rows(account)).find(({ scopes }) => String(scopes) === 'account');
  t.is((await revoke(account, String(own?.id))).status, 204);
  t.like(await problem(await account.manage(KEYS)), { status: 401, code: 'invalid_api_key' });
});

test("another account's key is reported as not found and stays valid", async (t) => {
  const [owner, other] = [await makeAccount(stack, 10), await makeAccount(stack, 10)];
  const { id, key } = await json(await create(owner, { name: 'mine', scopes: ['tools'] }));
  const refusal = await problem(await revoke(other, id));
  t.like(refusal, { status: 404, code: 'not_found' });
  t.deepEqual(await problem(await revoke(other, 'key_none')), refusal);
  t.deepEqual(await problem(await revoke(other, '%00')), refusal);
  t.is((await hash(key)).status, 200);
});

test('each scope permits only its own part of the API', async (t) => {
  const account = await makeAccount(stack, 10);
  const refused = { status: 403, code: 'insufficient_scope' };
  for (const path of ['', '/calls', '/ledger', '/keys', '/events'])
    t.like(await problem(await get(`/api/v1/account${path}`, account.toolsKey)), refused);
  const headers = { Authorization: `Bearer ${account.toolsKey}`, 'Content-Type': 'application/json' };
  const body = JSON.stringify({ name: 'x', scopes: ['account'] });
  t.like(await problem(await fetch(`${stack.baseUrl}${KEYS}`, { method: 'POST', headers, body })), refused);
  t.like(await problem(await hash(account.accountKey)), refused);
  t.is((await rows(account)).length, 2);
});

test('missing, unknown and expired keys are refused', async (t) => {
  const account = await makeAccount(stack, 10);
  const none = await fetch(`${stack.baseUrl}/api/v1/account`);
  t.regex(none.headers.get('www-authenticate') ?? '', /^Bearer/);
  t.like(await problem(none), { status: 401, code: 'missing_api_key' });
  t.like(await problem(await get('/api/v1/account', 'ut_x')), { status: 401, code: 'invalid_api_key' });
  const expired = await account.addKey({ scope: 'account', expiresAt: new Date(Date.now() - 1) });
  t.like(await problem(await get('/api/v1/account', expired.key)), { status: 401, code: 'invalid_api_key' });
});

test('a key that is limited to some tools cannot call other tools', async (t) => {
  const account = await makeAccount(stack, 10);
  const { key } = await json(
    await create(account, { name: 'qr', scopes: ['tools'], tools: ['qr-generate'] }),
  );
  t.like(await problem(await hash(key)), { status: 403, code: 'tool_not_allowed' });
});

test('an invalid body is refused, and the error lists every fault with its JSON pointer', async (t) => {
  const account = await makeAccount(stack, 0);
  const good = { name: 'x', scopes: ['tools'] };
  const cases: [Row, ...string[]][] = [
    [{}, '/name', '/scopes'],
    [{ ...good, name: '' }, '/name', '/name'],
    [{ ...good, name: '   ' }, '/name'],
    [{ ...good, name: 'a\nb' }, '/name'],
    [{ ...good, name: 'a\u0000' }, '/name'],
    [{ ...good, name: 'a\u0085' }, '/name'],
    [{ ...good, name: '\ud800' }, '/name'],
    [{ ...good, name: 'x'.repeat(101) }, '/name'],
    [{ ...good, name: 5 }, '/name'],
    [{ ...good, scopes: [] }, '/scopes'],
    [{ ...good, scopes: ['tools', 'account'] }, '/scopes'],
    [{ ...good, scopes: ['root'] }, '/scopes/0'],
    [{ ...good, scopes: 'tools' }, '/scopes'],
    [{ ...good, tools: [] }, '/tools'],
    [{ ...good, tools: ['hash-text', 'no-such', '__proto__'] }, '/tools/1', '/tools/2'],
    [{ ...good, tools: ['hash-text', 'hash-text'] }, '/tools'],
    [{ name: 'x', scopes: ['account'], tools: ['hash-text'] }, '/tools'],
    [{ ...good, expiresAt: '2020-01-01T00:00:00Z' }, '/expiresAt'],
    [{ ...good, expiresAt: '2099-01-01' }, '/expiresAt'],
    [{ ...good, expiresAt: '2099-12-31T23:59:60Z' }, '/expiresAt'],
    [{ ...good, expiresAt: 4_102_444_800 }, '/expiresAt'],
    [{ ...good, key: 'ut_mine', id: 'key_mine' }, '/id', '/key'],
  ];
  for (const [body, ...pointers] of cases)
    t.deepEqual(
      await problem(await create(account, body)),
      { status: 422, code: 'invalid_input', pointers },
      JSON.stringify(body).slice(0, 80),
    );
  for (const [expiresAt, reason] of [
    ['2020-01-01T00:00:00Z', /in the future/],
    ['2099-12-31T23:59:60Z', /seconds from 00 to 59/],
    ['2099-12-31T23:59:00+05', /such as \+05:00/],
    ['9999-12-31T23:59:59-12:00', /before the year 10000/],
  ] as const) {
    const refused = await json(await create(account, { ...good, expiresAt }));
    t.regex(JSON.stringify(refused.errors), reason);
  }
  t.is((await create(account, { ...good, name: '😀'.repeat(100) })).status, 201);
  t.is((await rows(account)).length, 3);
});

test('a body must be a JSON object of limited size, with a JSON content type', async (t) => {
  const account = await makeAccount(stack, 0);
  const post = async (body: string, type = 'application/json') =>
    problem(
      await account.manage(KEYS, undefined, { method: 'POST', body, headers: { 'Content-Type': type } }),
    );
  t.like(await post('{'), { status: 400, code: 'malformed_json' });
  t.like(await post('[]'), { status: 400, code: 'malformed_json' });
  t.like(await post('{}', 'text/plain'), { status: 415, code: 'unsupported_media_type' });
  t.like(await post(JSON.stringify({ name: 'x'.repeat(200_000) })), { status: 413, code: 'body_too_large' });
});

test('the 51st valid key is refused, also under concurrency; revoking one makes room', async (t) => {
  const account = await makeAccount(stack, 0);
  const answers = await Promise.all(
    Array.from({ length: 52 }, async (_, i) => {
      const response = await create(account, { name: `key ${i}`, scopes: ['tools'] });
      const body = await json(response);
      return { status: response.status, code: body.code, id: body.id };
    }),
  );
  const made = answers.filter(({ status }) => status === 201);
  const refused = answers.filter(({ status }) => status !== 201);
  t.is(made.length, 48);
  t.deepEqual(
    refused.map(({ status, code }) => [status, code]),
    Array.from({ length: 4 }, () => [409, 'limit_reached']),
  );
  t.is((await rows(account)).length, 50);
  t.is((await revoke(account, made[0]?.id)).status, 204);
  t.is((await create(account, { name: 'in its place', scopes: ['tools'] })).status, 201);
  t.is((await create(account, { name: 'one too many', scopes: ['tools'] })).status, 409);
});
