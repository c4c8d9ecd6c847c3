import { createHash, randomBytes } from 'node:crypto';
import { UnauthorizedError } from '@modelcontextprotocol/client';
import test from 'ava';
import { parse } from 'parse5';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { OPERATOR } from '../../store/accounts/securityLog.ts';
import { createConnections } from '../../store/keys/connections.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { newOwner, type Visitor, visitor } from '../helpers/dashboard.ts';
import { recordAt } from '../helpers/json.ts';
import { auditAccountWhenIdle } from '../helpers/ledgerCheck.ts';
import { attribute, elementsOf, mainText } from '../helpers/markup.ts';
import { approve, connected, connectPath, oauthClient, REDIRECT_URL } from '../helpers/oauth.ts';
import { useStack } from '../helpers/profiles.ts';
import { cookieOf, freshCredentials } from '../helpers/session.ts';
import { untilDayLasts } from '../helpers/utcDay.ts';

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
const owner = await newOwner(stack);
const accountId = await accountIdOf(owner);
test.after.always(async () => {
  await store.close();
  await stack.stop();
});

async function accountIdOf({ email }: Visitor): Promise<string> {
  const account = await store.accounts.findOne({ email });
  if (account === null) throw new Error(`no account of ${email}`);
  return account._id;
}

const textOf = async (page: Response): Promise<string> => mainText(elementsOf(parse(await page.text())));

const HASH = { name: 'hash-text', arguments: { text: 'abc' } };

/** An authorization request as a client that does everything by hand sends it. */
async function register(metadata: Record<string, unknown> = {}): Promise<string> {
  const response = await fetch(`${stack.baseUrl}/api/auth/oauth2/register`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      client_name: 'By hand',
      redirect_uris: [REDIRECT_URL],
      grant_types: ['authorization_code', 'refresh_token'],
      ...metadata,
    }),
  });
  const client: unknown = await response.json();
  return String(recordAt(client).client_id);
}

interface Request {
  clientId: string;
  verifier: string;
  url: URL;
}

async function request(changes: Record<string, string | null> = {}): Promise<Request> {
  const clientId = await register();
  const verifier = randomBytes(32).toString('base64url');
  const url = new URL('/api/auth/oauth2/authorize', stack.baseUrl);
  const query: Record<string, string | null> = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: REDIRECT_URL,
    scope: 'tools',
    state: 'xyz',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: `${stack.baseUrl}/mcp`,
    ...changes,
  };
  for (const [name, value] of Object.entries(query)) if (value !== null) url.searchParams.set(name, value);
  return { clientId, verifier, url };
}

async function token(fields: Record<string, string>) {
  const response = await fetch(`${stack.baseUrl}/api/auth/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams(fields),
  });
  const body: unknown = await response.json();
  return { status: response.status, cache: response.headers.get('cache-control'), body: recordAt(body) };
}

const exchange = ({ clientId, verifier }: Request, callback: URL, changes: Record<string, string> = {}) =>
  token({
    grant_type: 'authorization_code',
    client_id: clientId,
    code: callback.searchParams.get('code') ?? '',
    code_verifier: verifier,
    redirect_uri: REDIRECT_URL,
    ...changes,
  });

const listTools = (bearer: unknown) =>
  fetch(`${stack.baseUrl}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${bearer}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  });

/** Asks for authorization without being signed in or approving anything; returns where the browser is sent. */
const sentTo = async (url: URL) => {
  const response = await fetch(url, { redirect: 'manual', headers: { Cookie: owner.cookie } });
  return { status: response.status, location: response.headers.get('location'), response };
};

test.serial('the official client connects, calls within its limits, and is revoked', async (t) => {
  await untilDayLasts();
  const app = oauthClient(stack.baseUrl, 'Assistant <b>');
  await t.throwsAsync(app.connect(), { instanceOf: UnauthorizedError });
  const { authorizationUrl } = app.provider;
  if (authorizationUrl === null) return t.fail('no authorization request');
  t.is(authorizationUrl.searchParams.get('code_challenge_method'), 'S256');

  const path = await connectPath(authorizationUrl, owner.cookie);
  const page = await owner.get(path);
  t.regex(
    page.headers.get('content-security-policy') ?? '',
    /form-action 'self' http:\/\/127\.0\.0\.1:7777;/,
  );
  const text = await textOf(page);
  t.true(text.includes('Assistant <b> asks to use your account'), text);
  t.true(text.includes('127.0.0.1:7777'), text);

  const callback = await approve(owner, authorizationUrl, [
    ['scopes', 'tools'],
    ['scopes', 'account'],
    ['tools', 'hash-text'],
    ['tools', 'qr-generate'],
    ['monthlyBudget', '2'],
  ]);
  t.is(callback.searchParams.get('state'), 'state of the application');
  t.is(callback.searchParams.get('iss'), `${stack.baseUrl}/api/auth`);
  await app.finish(callback);
  t.regex(app.provider.stored?.access_token ?? '', /^ut_at_/);
  t.regex(app.provider.stored?.refresh_token ?? '', /^ut_rt_/);

  await using connection = await app.connect();
  const { client } = connection;
  const names = (await client.listTools()).tools.map(({ name }) => name).sort();
  t.deepEqual(names, ['account-balance', 'account-calls', 'account-plan', 'hash-text', 'qr-generate']);
  t.like((await client.callTool(HASH))._meta, { charged: 1 });
  t.like((await client.callTool({ name: 'account-balance', arguments: {} })).structuredContent, {
    id: accountId,
  });
  const other = await client.callTool({ name: 'http-request', arguments: { url: 'http://example.com/' } });
  t.like(other.structuredContent, { code: 'tool_not_allowed' });
  t.like((await client.callTool(HASH))._meta, { charged: 1 });
  const third = await client.callTool(HASH);
  t.like(third.structuredContent, {
    code: 'key_budget_exceeded',
    budget: { period: 'month', credits: 2, spent: 2 },
  });

  const list = await textOf(await owner.get('/clients'));
  t.true(list.includes('Assistant <b>') && list.includes('2 of 2'), list);
  t.false((await textOf(await owner.get('/keys'))).includes('Assistant'), 'it is no key');

  const [row] = await store.apiKeys.find({ accountId }).toArray();
  const calls = elementsOf(parse(await (await owner.get(`/calls?key=${row?._id}`)).text()));
  const filter = calls.find((element) => attribute(element, 'value') === row?._id);
  t.is(filter && attribute(filter, 'selected'), '', 'its calls are found like those of a key');
  t.is((await owner.post(`/clients/${row?._id}/revoke`)).status, 303);
  const refused = await listTools(app.provider.stored?.access_token);
  t.is(refused.status, 401);
  t.regex(
    refused.headers.get('www-authenticate') ?? '',
    /^Bearer error="invalid_token", resource_metadata="/,
  );
  // The client tries to refresh its tokens, which fails, and asks the owner again.
  app.provider.authorizationUrl = null;
  await t.throwsAsync(app.connect(), { instanceOf: UnauthorizedError });
  t.not(app.provider.authorizationUrl, null);
  t.deepEqual(await auditAccountWhenIdle(store, accountId), []);
  const kinds = (await store.events.find({ accountId }).toArray()).map(({ event }) => event);
  t.true(kinds.includes('api_key.created') && kinds.includes('api_key.revoked'));
});

test.serial('a visitor who is not signed in comes back to the request after sign-in', async (t) => {
  const { url } = await request();
  const stranger = visitor(stack, '', freshCredentials());
  const path = await connectPath(url, '');
  const first = await stranger.get(path);
  t.is(first.headers.get('location'), '/dashboard/sign-in');
  const remembered = first.headers.getSetCookie().map((cookie) => cookie.split(';')[0]);
  const signedIn = await stranger.postRaw(
    '/sign-in',
    { email: owner.email, password: owner.password },
    { Cookie: remembered.join('; ') },
  );
  t.is(signedIn.headers.get('location'), '/dashboard');
  const cookies = [cookieOf(signedIn), ...remembered].join('; ');
  const home = await stranger.get('', { Cookie: cookies });
  t.is(home.headers.get('location'), `/dashboard${path}`);
  t.true(home.headers.getSetCookie().some((cookie) => /^utility-tools\.return=;.*Max-Age=0/.test(cookie)));
  const elsewhere = Buffer.from('//example.com/').toString('base64url');
  const stays = await stranger.get('', {
    Cookie: `${cookieOf(signedIn)}; utility-tools.return=${elsewhere}`,
  });
  t.is(stays.status, 200);
});

test.serial(
  'tokens are refreshed with rotation, and a reused refresh token ends the connection’s tokens',
  async (t) => {
    const asked = await request();
    const callback = await approve(owner, asked.url);
    const first = await exchange(asked, callback);
    t.like(first, { status: 200, cache: 'no-store' });
    t.is((await listTools(first.body.access_token)).status, 200);
    const refresh = (refreshToken: unknown) =>
      token({ grant_type: 'refresh_token', client_id: asked.clientId, refresh_token: String(refreshToken) });
    const second = await refresh(first.body.refresh_token);
    t.is((await listTools(second.body.access_token)).status, 200);
    t.like(await refresh(first.body.refresh_token), { status: 400, body: { error: 'invalid_grant' } });
    t.is((await listTools(second.body.access_token)).status, 401);
    t.like(await refresh(second.body.refresh_token), { status: 400, body: { error: 'invalid_grant' } });

    const tokens = await store.oauthAccessTokens.find().toArray();
    for (const { token: hash } of tokens) t.regex(hash, /^[0-9a-f]{64}$/, 'only hashes are stored');
  },
);

test.serial('a client can revoke its own token', async (t) => {
  const asked = await request();
  const { body } = await exchange(asked, await approve(owner, asked.url));
  const response = await fetch(`${stack.baseUrl}/api/auth/oauth2/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: asked.clientId, token: String(body.refresh_token) }),
  });
  t.is(response.status, 200);
  t.is((await listTools(body.access_token)).status, 401);
});

test.serial('a code is valid once, for its client, address and verifier', async (t) => {
  const wrong: [string, Record<string, string>][] = [
    ['another verifier', { code_verifier: randomBytes(32).toString('base64url') }],
    ['another address', { redirect_uri: 'http://127.0.0.1:7777/other' }],
    ['another client', { client_id: await register() }],
    ['another resource', { resource: 'https://example.com/mcp' }],
  ];
  for (const [what, changes] of wrong) {
    const asked = await request();
    const callback = await approve(owner, asked.url);
    t.true((await exchange(asked, callback, changes)).status >= 400, what);
    t.like(
      await exchange(asked, callback),
      { body: { error: 'invalid_grant' } },
      `${what}: the code is spent`,
    );
  }
  const asked = await request();
  const callback = await approve(owner, asked.url);
  const { body } = await exchange(asked, callback);
  t.like(await exchange(asked, callback), { status: 400, body: { error: 'invalid_grant' } });
  t.is((await listTools(body.access_token)).status, 401, 'reuse ends the token of the code');
});

test.serial('requests that are not safe to answer are refused', async (t) => {
  const elsewhere = await sentTo((await request({ redirect_uri: 'http://127.0.0.1:7777/other' })).url);
  t.is(elsewhere.status, 400);
  t.is(elsewhere.location, null, 'an unknown address gets no redirect');
  const unknown = await sentTo((await request({ client_id: 'unknown' })).url);
  t.is(unknown.status, 400);

  const wrong: [string, Record<string, string | null>][] = [
    ['invalid_request', { code_challenge: null, code_challenge_method: null }],
    ['invalid_request', { code_challenge_method: 'plain' }],
    ['invalid_target', { resource: 'https://example.com/mcp' }],
    ['invalid_scope', { scope: 'tools admin' }],
    ['consent_required', { prompt: 'none' }],
    ['unsupported_response_type', { response_type: 'token' }],
  ];
  for (const [code, changes] of wrong) {
    const { status, location } = await sentTo((await request(changes)).url);
    t.like(
      { status, location },
      { status: 400, location: null },
      `${code} of a client that is not connected`,
    );
  }

  const asked = await request();
  await approve(owner, asked.url);
  const issuer = `${stack.baseUrl}/api/auth`;
  for (const [code, changes] of wrong) {
    const { url } = await request({ client_id: asked.clientId, ...changes });
    const stranger = await fetch(url, { redirect: 'manual' });
    t.is(stranger.status, 400, `${code} of a client that the visitor has not connected`);
    const { location } = await sentTo(url);
    const address = new URL(location ?? '');
    t.is(address.origin + address.pathname, REDIRECT_URL);
    const parameters =
      changes.response_type === 'token' ? new URLSearchParams(address.hash.slice(1)) : address.searchParams;
    const { error, state, iss } = Object.fromEntries(parameters);
    t.deepEqual({ error, state, iss }, { error: code, state: 'xyz', iss: issuer });
  }
});

test.serial('the page accepts only requests that the service has checked', async (t) => {
  const { url } = await request();
  const path = await connectPath(url, owner.cookie);
  const forged = path.replace(encodeURIComponent(REDIRECT_URL), encodeURIComponent('http://127.0.0.1:9/'));
  t.not(forged, path);
  t.is((await owner.get(forged)).status, 400);
  t.is((await owner.post(forged, { scopes: 'tools', decision: 'connect' })).status, 400);
  t.is((await owner.postRaw(path, { scopes: 'tools', decision: 'connect' })).status, 403, 'no form token');
  const refused = await owner.post(path, { decision: 'refuse' });
  t.is(new URL(refused.headers.get('location') ?? '').searchParams.get('error'), 'access_denied');
  const none = await owner.post(path, { decision: 'connect' });
  t.is(none.status, 422);
  t.true((await textOf(none)).includes('must have at least one selected'));
});

test.serial('registrations with unusable metadata are refused, and clients never get a secret', async (t) => {
  const answer = async (metadata: Record<string, unknown>) => {
    const response = await fetch(`${stack.baseUrl}/api/auth/oauth2/register`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(metadata),
    });
    return { status: response.status, body: recordAt(await response.json()) };
  };
  for (const redirect of ['javascript:alert(1)', 'http://example.com/', 'https://a:b@example.com/', 'x'])
    t.is((await answer({ redirect_uris: [redirect] })).status, 400, redirect);
  t.is((await answer({ redirect_uris: [REDIRECT_URL], client_name: 'x'.repeat(101) })).status, 400);
  t.is((await answer({ redirect_uris: [REDIRECT_URL], scope: 'tools admin' })).status, 400);
  const made = await answer({
    redirect_uris: ['https://example.com/callback'],
    token_endpoint_auth_method: 'client_secret_basic',
    jwks_uri: 'https://example.com/keys',
    logo_uri: 'https://example.com/logo.png',
  });
  t.like(made, { status: 201, body: { token_endpoint_auth_method: 'none' } });
  t.false('client_secret' in made.body);
  const row = await store.oauthClients.findOne({ clientId: String(made.body.client_id) });
  t.true((row?.unusedUntil?.getTime() ?? 0) > Date.now(), 'it is deleted unless an owner connects it');
});

test.serial('access tokens are valid only for the MCP endpoint', async (t) => {
  const asked = await request();
  const { body } = await exchange(asked, await approve(owner, asked.url));
  const headers = { Authorization: `Bearer ${body.access_token}`, 'Content-Type': 'application/json' };
  const call = await fetch(`${stack.baseUrl}/api/v1/tools/hash-text`, {
    method: 'POST',
    headers,
    body: '{"text":"abc"}',
  });
  t.is(call.status, 401);
  t.is((await fetch(`${stack.baseUrl}/api/v1/account`, { headers })).status, 401);
  t.is((await listTools(body.refresh_token)).status, 401);
  const hash = createHash('sha256').update(String(body.access_token).slice('ut_at_'.length)).digest('hex');
  await store.oauthAccessTokens.updateOne({ token: hash }, { $set: { resources: ['https://example.com/'] } });
  t.is((await listTools(body.access_token)).status, 401, 'a token of another resource');
});

test.serial('a connection that has expired, or whose account is suspended, cannot call tools', async (t) => {
  const debtor = await newOwner(stack);
  const app = await connected(stack.baseUrl, debtor, 'App');
  const id = await accountIdOf(debtor);
  const amount = -1000;
  await createAccounts(store).grant({
    accountId: id,
    type: 'adjustment',
    amount,
    reference: 'x',
    reason: 'x',
  });
  await using connection = await app.connect();
  t.like((await connection.client.callTool(HASH)).structuredContent, { code: 'account_suspended' });

  const refreshToken = app.provider.stored?.refresh_token ?? '';
  await store.apiKeys.updateOne({ accountId: id }, { $set: { expiresAt: new Date() } });
  t.is((await listTools(app.provider.stored?.access_token)).status, 401);
  const clientId = app.provider.client?.client_id ?? '';
  const refreshed = await token({
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: refreshToken,
  });
  t.like(
    refreshed,
    { status: 400, body: { error: 'invalid_grant' } },
    'so that the client asks the owner again',
  );
});

test.serial(
  'a client whose last connection was revoked is deleted later, unless it is connected again',
  async (t) => {
    const [first, second] = [await newOwner(stack), await newOwner(stack)];
    const app = await connected(stack.baseUrl, first, 'App');
    const clientId = app.provider.client?.client_id ?? '';
    const unusedUntil = async () => (await store.oauthClients.findOne({ clientId }))?.unusedUntil;
    const connect = async (owner: Visitor) => {
      app.provider.stored = undefined;
      await app.connect().catch(() => undefined);
      await app.finish(await approve(owner, app.provider.authorizationUrl ?? new URL('about:blank'), {}));
    };
    const revoke = async (owner: Visitor) => {
      const row = await store.apiKeys.findOne({ accountId: await accountIdOf(owner), revokedAt: null });
      await createConnections(store).revoke(row?.accountId ?? '', row?._id ?? '', OPERATOR);
    };
    await connect(second);
    await revoke(first);
    t.is(await unusedUntil(), undefined, 'the second owner has connected it');
    await revoke(second);
    t.true((await unusedUntil()) instanceof Date);
    await connect(first);
    t.is(await unusedUntil(), undefined);
  },
);

test.serial('a client stays connected when its owner signs out', async (t) => {
  const leaving = await newOwner(stack);
  const app = await connected(stack.baseUrl, leaving, 'App');
  t.is((await leaving.post('/sign-out')).status, 303);
  await using connection = await app.connect();
  t.like((await connection.client.callTool(HASH))._meta, { charged: 1 });
});

test.serial('a client that is connected again keeps its connection with the new limits', async (t) => {
  const again = await newOwner(stack);
  const app = await connected(stack.baseUrl, again, 'App', { scopes: 'account' });
  const id = await accountIdOf(again);
  const [before] = await store.apiKeys.find({ accountId: id }).toArray();
  t.like(before, { scope: 'account', tools: null, monthlyBudget: null });
  app.provider.stored = undefined;
  await app.connect().catch(() => undefined);
  const { authorizationUrl } = app.provider;
  if (authorizationUrl === null) return t.fail('no authorization request');
  await app.finish(await approve(again, authorizationUrl, { scopes: 'tools', dailyBudget: '7' }));
  const rows = await store.apiKeys.find({ accountId: id }).toArray();
  t.is(rows.length, 1);
  t.like(rows[0], { _id: before?._id, scope: 'tools', dailyBudget: 7, client: { account: false } });
});
