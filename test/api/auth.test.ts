import test, { type ExecutionContext } from 'ava';
import { createAttemptLimit } from '../../api/auth/attemptLimit.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { isRecord, type Json } from '../helpers/json.ts';
import { accountOf } from '../helpers/ledgerCheck.ts';
import { FREE_CREDITS, LIMITED, useStack } from '../helpers/profiles.ts';
import {
  type Credentials,
  cookieOf,
  freshCredentials,
  postAuth,
  signIn,
  signUp,
} from '../helpers/session.ts';
import { makeUser } from '../helpers/users.ts';

const { publicUrl: PUBLIC_URL } = LIMITED;
/** Delay of a sign-in to an account whose password many addresses have guessed wrong. */
const SLOW_MS = 5000;

const stack = await useStack();
/** A second stack that has rate limits and another public URL. */
const limited = await useStack('limited');
const store = await openStore(stack.mongodbUri);
const limitedStore = await openStore(limited.mongodbUri);
test.after.always(async () => {
  await store.close();
  await limitedStore.close();
  await stack.stop();
  await limited.stop();
});

async function fields(response: Response): Promise<Json> {
  const body: unknown = await response.json();
  return isRecord(body) ? body : {};
}

/** Returns the user of a session as better-auth reports it, or null if the session is invalid. */
async function userOf(cookie: string): Promise<Json | null> {
  const response = await fetch(`${stack.baseUrl}/api/auth/get-session`, { headers: { Cookie: cookie } });
  const { user } = await fields(response);
  return isRecord(user) ? user : null;
}

async function accountIdOf(cookie: string): Promise<string> {
  const user = await userOf(cookie);
  if (typeof user?.accountId !== 'string') throw new Error('no account');
  return user.accountId;
}

test('a sign-up creates an account with the free credits and fires no event', async (t) => {
  const credentials = freshCredentials();
  const accountId = await accountIdOf(await signUp(stack.baseUrl, credentials));
  const { balance, reserved, email } = await accountOf(store, accountId);
  t.deepEqual({ balance, reserved, email }, { balance: FREE_CREDITS, reserved: 0, email: credentials.email });
  const lines = await store.entries.find({ accountId }).toArray();
  t.deepEqual(
    lines.map(({ type, amount }) => ({ type, amount })),
    [{ type: 'signup', amount: FREE_CREDITS }],
  );
  t.is(await store.events.countDocuments({ accountId }), 0);
});

test.serial(
  'a sign-up that the database cannot complete is answered as temporary, not as invalid',
  async (t) => {
    const credentials = freshCredentials();
    const signsUp = () => postAuth(stack.baseUrl, 'sign-up/email', { name: 'Test', ...credentials });
    await store.client.withSession(async (session) => {
      session.startTransaction();
      await store.db.collection('users').insertOne({ email: credentials.email }, { session });
      const response = await signsUp();
      t.is(response.status, 503);
      t.is(response.headers.get('retry-after'), '5');
      t.like(await fields(response), { code: 'pool_busy', status: 503 });
      await session.abortTransaction();
    });
    t.is((await signsUp()).status, 200);
  },
);

test.serial('ten concurrent sign-ups on a new installation all succeed', async (t) => {
  const cookies = await Promise.all(
    Array.from({ length: 10 }, () => signUp(stack.baseUrl, freshCredentials())),
  );
  const ids = await Promise.all(cookies.map(accountIdOf));
  t.is(new Set(ids).size, 10);
});

test('ten concurrent sign-ups with one email create one user and one account', async (t) => {
  const credentials = freshCredentials();
  const upper = { ...credentials, email: credentials.email.toUpperCase() };
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      postAuth(stack.baseUrl, 'sign-up/email', { name: 'Test', ...(i % 2 ? credentials : upper) }),
    ),
  );
  const statuses = answers.map(({ status }) => status);
  t.is(statuses.filter((status) => status === 200).length, 1);
  t.is(statuses.filter((status) => status === 422).length, 9);
  t.is(await store.accounts.countDocuments({ email: credentials.email }), 1);
  t.is(await store.db.collection('users').countDocuments({ email: credentials.email }), 1);
  await signIn(stack.baseUrl, upper);
});

test('an account that is missing because the process died during the sign-up is created once, at the next sign-in', async (t) => {
  const credentials = freshCredentials();
  const accountId = await accountIdOf(await signUp(stack.baseUrl, credentials));
  await store.entries.deleteMany({ accountId });
  await store.accounts.deleteOne({ _id: accountId });
  await Promise.all(Array.from({ length: 5 }, () => signIn(stack.baseUrl, credentials)));
  const { balance, email } = await accountOf(store, accountId);
  t.deepEqual({ balance, email }, { balance: FREE_CREDITS, email: credentials.email });
  t.is(await store.entries.countDocuments({ accountId }), 1);
});

test('a sign-up with the email of an account that an operator created does not get that account', async (t) => {
  const { email } = await makeUser(stack, 'owner');
  await store.db.collection('users').deleteOne({ email });
  const response = await postAuth(stack.baseUrl, 'sign-up/email', { ...freshCredentials(), email, name: '' });
  t.is(response.status, 422);
  t.is(await store.db.collection('users').countDocuments({ email }), 0);
});

test('a session starts with the sign-in and ends with the sign-out', async (t) => {
  const credentials = freshCredentials();
  await signUp(stack.baseUrl, credentials);
  const cookie = await signIn(stack.baseUrl, credentials);
  t.is((await userOf(cookie))?.email, credentials.email);
  const out = await postAuth(stack.baseUrl, 'sign-out', {}, { Cookie: cookie, Origin: stack.baseUrl });
  t.is(out.status, 200);
  t.is(await userOf(cookie), null);
});

test('a session cookie with a modified character is rejected', async (t) => {
  const cookie = await signUp(stack.baseUrl, freshCredentials());
  t.is(await userOf(cookie.replace(/=(.)/, (_, first) => (first === 'a' ? '=b' : '=a'))), null);
});

test('the cookie is not accessible to scripts and other sites', async (t) => {
  const response = await postAuth(stack.baseUrl, 'sign-up/email', { name: 'Test', ...freshCredentials() });
  const [cookie = ''] = response.headers.getSetCookie();
  t.regex(cookie, /; HttpOnly(;|$)/);
  t.regex(cookie, /; SameSite=Lax(;|$)/);
  t.notRegex(cookie, /; Secure/);
  t.is(response.headers.get('cache-control'), 'no-store');
});

test('the cookie is sent over https only when the public URL is https', async (t) => {
  const credentials = { name: 'Test', ...freshCredentials() };
  const response = await postAuth(limited.baseUrl, 'sign-up/email', credentials, { Origin: PUBLIC_URL });
  t.is(response.status, 200);
  t.regex(response.headers.getSetCookie()[0] ?? '', /; Secure(;|$)/);
});

for (const [field, value] of [
  ['accountId', 'acc_of_another'],
  ['role', 'operator'],
] as const) {
  test(`a sign-up with the field ${field} is refused`, async (t) => {
    const credentials = freshCredentials();
    const body = { name: 'Test', ...credentials, [field]: value };
    const response = await postAuth(stack.baseUrl, 'sign-up/email', body);
    const row = await store.db.collection('users').findOne({ email: credentials.email });
    t.true(response.status === 400 ? row === null : row !== null && row[field] !== value);
  });

  test(`${field} cannot be changed by its user`, async (t) => {
    const cookie = await signUp(stack.baseUrl, freshCredentials());
    const before = (await userOf(cookie))?.[field];
    const headers = { Cookie: cookie, Origin: stack.baseUrl };
    const response = await postAuth(
      stack.baseUrl,
      'update-user',
      { name: 'Changed', [field]: value },
      headers,
    );
    t.is(response.status, 400);
    t.is((await userOf(cookie))?.[field], before);
  });
}

test('requests from pages of other origins are refused', async (t) => {
  const credentials = freshCredentials();
  const cookie = await signUp(stack.baseUrl, credentials);
  const refused = async (
    path: string,
    headers: Record<string, string>,
    body: unknown = { name: 'Changed' },
  ) => t.is((await postAuth(stack.baseUrl, path, body, headers)).status, 403);
  await refused('update-user', { Cookie: cookie, Origin: 'https://evil.example' });
  // Another port of the same host is the same site, so a browser sends the SameSite=Lax cookie in this request.
  await refused('update-user', { Cookie: cookie, Origin: 'http://127.0.0.1:1' });
  await refused('update-user', { Cookie: cookie, Origin: 'null' });
  await refused('sign-out', { Cookie: cookie, Origin: 'https://evil.example' }, {});
  await refused('sign-in/email', { Origin: 'https://evil.example' }, credentials);
  const user = await userOf(cookie);
  t.is(user?.name, 'Test');
});

test('the session gives its owner access to the Account API, but refuses changes from other origins', async (t) => {
  const cookie = await signUp(stack.baseUrl, freshCredentials());
  const ask = (headers: Record<string, string>, body?: Json, path = 'account/keys') =>
    fetch(`${stack.baseUrl}/api/v1/${path}`, {
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
  const account = await fields(await ask({ Cookie: cookie }, undefined, 'account'));
  t.is(account.id, await accountIdOf(cookie));

  const newKey = { name: 'mine', scopes: ['tools'], tools: null, expiresAt: null };
  t.is((await ask({ Cookie: cookie, Origin: 'https://evil.example' }, newKey)).status, 401);
  t.is((await ask({ Cookie: cookie, Origin: 'http://127.0.0.1:1' }, newKey)).status, 401);
  t.deepEqual((await fields(await ask({ Cookie: cookie }))).items, []);
  t.is((await ask({ Cookie: cookie, Origin: stack.baseUrl }, newKey)).status, 201);
  t.is((await ask({ Cookie: cookie }, newKey)).status, 201);

  t.is((await ask({ Cookie: cookie }, { text: 'abc' }, 'tools/hash-text')).status, 401);
  t.is((await ask({ Cookie: cookie, Authorization: 'Bearer ut_no' }, newKey)).status, 401);
});

test('the origin localhost is accepted in place of 127.0.0.1', async (t) => {
  const credentials = freshCredentials();
  await signUp(stack.baseUrl, credentials);
  const local = stack.baseUrl.replace('127.0.0.1', 'localhost');
  const response = await postAuth(local, 'sign-in/email', credentials, { Origin: local });
  t.is(response.status, 200);
  cookieOf(response);
});

async function wrongPasswords(t: ExecutionContext, credentials: Credentials): Promise<Response> {
  for (let attempt = 1; attempt <= 30; attempt++) {
    const response = await postAuth(limited.baseUrl, 'sign-in/email', {
      ...credentials,
      password: `wrong${attempt}`,
    });
    if (response.status === 429) {
      t.log(`refused after ${attempt - 1} attempts`);
      return response;
    }
    t.is(response.status, 401);
  }
  throw new Error('no attempt was refused');
}

test('password guessing is limited without affecting other users', async (t) => {
  const [guessed, other] = [freshCredentials(), freshCredentials()];
  await signUp(limited.baseUrl, guessed);
  await signUp(limited.baseUrl, other);
  const response = await wrongPasswords(t, guessed);
  t.true(Number(response.headers.get('retry-after')) > 0);
  t.is((await fields(response)).code, 'rate_limited');
  t.is((await postAuth(limited.baseUrl, 'sign-in/email', guessed)).status, 429);
  for (let i = 0; i < 12; i++) await signIn(limited.baseUrl, other);
});

const signInFrom = (address: string, credentials: Credentials, headers: Record<string, string> = {}) =>
  postAuth(limited.baseUrl, 'sign-in/email', credentials, { 'X-Forwarded-For': address, ...headers });

/** Returns the cookie by which the service recognises this browser at later sign-ins, without the session cookie. */
const deviceCookie = (response: Response): string =>
  response.headers
    .getSetCookie()
    .map((cookie) => cookie.split(';')[0] ?? '')
    .find((cookie) => cookie.includes('device')) ?? '';

test('sign-ins with the correct password are limited by account and by device', async (t) => {
  const [owner, other] = [freshCredentials(), freshCredentials()];
  await signUp(limited.baseUrl, owner);
  await signUp(limited.baseUrl, other);
  const limit = createAttemptLimit(limitedStore, { rate: 20, burst: 40 });
  const counted = { address: '192.0.2.70', email: owner.email, device: null };
  await Promise.all(Array.from({ length: 59 }, () => limit.countCorrectPassword(counted)));
  const last = await signInFrom('192.0.2.71', owner);
  t.is(last.status, 200);
  const refused = await signInFrom('192.0.2.72', owner);
  t.is(refused.status, 429);
  t.true(Number(refused.headers.get('retry-after')) > 60);
  t.is((await signInFrom('192.0.2.72', owner, { Cookie: deviceCookie(last) })).status, 200, 'a known device');
  t.is((await signInFrom('192.0.2.72', other)).status, 200, 'another account');
});

test('a stranger who guesses a user’s password does not lock the user out', async (t) => {
  const owner = freshCredentials();
  await signUp(limited.baseUrl, owner);
  const wrong = { ...owner, password: 'wrong' };
  for (let i = 0; i < 10; i++) t.is((await signInFrom('192.0.2.10', wrong)).status, 401);
  t.is((await signInFrom('192.0.2.10', wrong)).status, 429, 'the stranger is limited');
  t.is((await signInFrom('192.0.2.10', owner)).status, 429);
  t.is((await signInFrom('198.51.100.10', owner)).status, 200, 'the owner is not limited');
});

test('a device that has signed in before is not affected by others at its address', async (t) => {
  const [owner, other] = [freshCredentials(), freshCredentials()];
  await signUp(limited.baseUrl, owner);
  await signUp(limited.baseUrl, other);
  const cookie = deviceCookie(await signInFrom('192.0.2.20', owner));
  t.not(cookie, '');
  let last: Response;
  do last = await signInFrom('192.0.2.20', { ...owner, password: 'wrong' });
  while (last.status === 401);
  t.is(last.status, 429);
  t.is((await signInFrom('192.0.2.20', owner)).status, 429);
  t.is((await signInFrom('192.0.2.20', owner, { Cookie: cookie })).status, 200);
  const forged = cookie.replace(/.$/, (end) => (end === 'A' ? 'B' : 'A'));
  t.is((await signInFrom('192.0.2.20', owner, { Cookie: forged })).status, 429);
  const cookieOfOther = deviceCookie(await signInFrom('198.51.100.20', other));
  t.is((await signInFrom('192.0.2.20', owner, { Cookie: cookieOfOther })).status, 429);
  // A recognised device may guess no faster than other devices.
  const statuses: number[] = [];
  for (let i = 0; i < 11; i++)
    statuses.push(
      (await signInFrom('192.0.2.20', { ...owner, password: 'wrong' }, { Cookie: cookie })).status,
    );
  t.deepEqual(statuses, [...Array(10).fill(401), 429]);
});

test('guesses at one account from many addresses slow its sign-in down but do not block it', async (t) => {
  t.timeout(180_000);
  const owner = freshCredentials();
  await signUp(limited.baseUrl, owner);
  const cookie = deviceCookie(await signInFrom('198.51.100.30', owner));
  const guess = (network: number) => signInFrom(`203.0.113.${network}`, { ...owner, password: 'wrong' });
  for (let round = 0; round < 9; round++)
    await Promise.all(Array.from({ length: 12 }, (_, network) => guess(network)));
  const timed = async (headers: Record<string, string> = {}) => {
    const began = performance.now();
    t.is((await signInFrom('198.51.100.31', owner, headers)).status, 200);
    return performance.now() - began;
  };
  const slow = timed();
  const known = timed({ Cookie: cookie }).then(() => 'known device');
  t.is(await Promise.race([slow, known]), 'known device', 'a known device is not delayed');
  t.true((await slow) >= SLOW_MS);
  await known;
});

test('trying many email addresses from one network is limited without affecting other users', async (t) => {
  const guess = (address: string) =>
    postAuth(limited.baseUrl, 'sign-in/email', freshCredentials(), { 'X-Forwarded-For': address });
  const statuses: number[] = [];
  for (let i = 1; i <= 40; i++) statuses.push((await guess(`2001:db8:1:2::${i}`)).status);
  const [allowed, refused] = [401, 429].map((status) => statuses.filter((it) => it === status).length);
  t.log(`${allowed} allowed, ${refused} refused`);
  t.true(allowed !== undefined && allowed < 40);
  t.is((allowed ?? 0) + (refused ?? 0), 40);
  t.is((await guess('2001:db8:1:3::1')).status, 401);
  t.is((await guess('192.0.2.1')).status, 401);
});

test('malformed and oversized sign-ups are refused', async (t) => {
  const status = async (path: string, body: unknown, headers = {}) =>
    (await postAuth(stack.baseUrl, path, body, headers)).status;
  t.is(await status('sign-in/email', '{'), 400);
  t.is(await status('sign-in/email', '[]'), 400);
  t.is(await status('sign-in/email', { email: 5, password: [] }), 400);
  t.is(await status('sign-in/email', { email: { $ne: null }, password: 'x' }), 400);
  t.is(await status('sign-up/email', { ...freshCredentials(), name: 'x'.repeat(70_000) }), 413);
  t.is(
    await status('sign-in/email', 'email=a', { 'Content-Type': 'application/x-www-form-urlencoded' }),
    415,
  );
  t.is(await status('delete-user', {}), 404);
  t.is((await fetch(`${stack.baseUrl}/api/auth/sign-out`)).status, 405);
});

test.serial('an address can register 60 OAuth clients in an hour', async (t) => {
  const register = (address: string) =>
    postAuth(
      limited.baseUrl,
      'oauth2/register',
      { redirect_uris: ['http://127.0.0.1/'] },
      { 'X-Forwarded-For': address },
    );
  const statuses = await Promise.all(
    Array.from({ length: 61 }, async () => (await register('192.0.2.60')).status),
  );
  t.deepEqual(Map.groupBy(statuses, (status) => status).get(201)?.length, 60);
  const refused = await register('192.0.2.60');
  t.is(refused.status, 429);
  t.true(Number(refused.headers.get('Retry-After')) > 3000);
  t.is((await register('192.0.2.61')).status, 201, 'another address');
});
