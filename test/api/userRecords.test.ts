import { randomBytes } from 'node:crypto';
import test from 'ava';
import { ObjectId } from 'mongodb';
import { type Auth, createAuth } from '../../api/auth/auth.ts';
import { createLog } from '../../platform/log.ts';
import { createKeyring, type Keyring } from '../../platform/secrets/keyring.ts';
import { readEnv } from '../../schemas/env.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { assertMasterKeys } from '../../store/secrets/masterKeys.ts';
import { countReferences } from '../../store/secrets/rekey.ts';
import { rewrapSecrets } from '../../store/secrets/rewrapSecrets.ts';
import { startDatabase } from '../helpers/stack.ts';
import { totp } from '../helpers/totp.ts';

const ORIGIN = 'http://localhost:8080';
const PASSWORD = 'correct horse battery';

let database: Awaited<ReturnType<typeof startDatabase>>;
let store: Store;
let auth: Auth;
let create: (keyring: Keyring, strict?: boolean) => Auth;
const keys = [{ id: 'k1', bytes: randomBytes(32) }];
let user: { id: string; email: string };
/** Tokens of the password links in the emails that were sent. */
const links: string[] = [];

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri);
  const env = readEnv({});
  const accounts = createAccounts(store);
  const log = createLog(env, 'test', await loadRegistry());
  create = (keyring, OPERATOR_TWO_FACTOR = false) =>
    createAuth({
      env: { ...env, PUBLIC_URL: ORIGIN, OPERATOR_TWO_FACTOR },
      store,
      accounts,
      keyring,
      mails: {
        delivers: false,
        reset: (_, token) => links.push(token),
        verify: () => undefined,
        accountExists: () => undefined,
      },
      log,
    });
  auth = create(createKeyring(keys));
  const { _id: accountId } = await accounts.create({ email: 'ann@example.com', credits: 0 });
  user = await auth.createUser({
    name: 'Ann',
    email: 'ann@example.com',
    password: PASSWORD,
    accountId,
    role: 'owner',
  });
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

const post = (path: string, body: object, { by = auth, cookie = '' } = {}) =>
  by.handler(
    new Request(`${ORIGIN}/api/auth/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: ORIGIN, Cookie: cookie },
      body: JSON.stringify(body),
    }),
  );
const signIn = (password: string) => post('sign-in/email', { email: user.email, password });
/** Returns the session that belongs to the cookie of a sign-in response. */
const sessionOf = (response: Response) =>
  auth.signedIn(new Headers({ Cookie: (response.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '' }));

test.serial('a user whom an operator created signs in, whatever the case of the email', async (t) => {
  t.is((await signIn('wrong horse battery')).status, 401);
  t.is((await signIn(PASSWORD)).status, 200);
  t.is((await auth.find('ANN@example.com'))?.id, user.id);
  t.is(await auth.find('bob@example.com'), null);
  t.true(await auth.hasPassword(user.id, PASSWORD));
  t.false(await auth.hasPassword(user.id, 'wrong horse battery'));
});

test.serial('sessions are listed, and ended one by one or all except one', async (t) => {
  const signedIn = await Promise.all(
    Array.from({ length: 3 }, async () => sessionOf(await signIn(PASSWORD))),
  );
  const [first = '', second = ''] = signedIn.map((session) => session?.sessionId);
  const ids = async () => (await auth.sessions(user.id)).map(({ id }) => id);
  t.true((await ids()).includes(first));
  t.true(await auth.endSession(user.id, first));
  t.false(await auth.endSession(user.id, first));
  t.false((await ids()).includes(first));
  await auth.endOtherSessions(user.id, second);
  t.deepEqual(await ids(), [second]);
});

test.serial('a sign-in ends the least recently used sessions above fifty', async (t) => {
  const current = await sessionOf(await signIn(PASSWORD));
  await auth.endOtherSessions(user.id, current?.sessionId ?? '');
  const sessions = store.db.collection('sessions');
  const row = await sessions.findOne({ userId: new ObjectId(user.id) });
  t.truthy(row);
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
  await sessions.insertMany(
    Array.from({ length: 60 }, (_, i) => ({
      ...row,
      _id: new ObjectId(),
      token: `session-${i + 1}`,
      updatedAt: hoursAgo(i + 1),
    })),
  );
  const latest = await sessionOf(await signIn(PASSWORD));
  const left = await auth.sessions(user.id);
  t.is(left.length, 50);
  t.is(left[0]?.id, latest?.sessionId);
  t.is(await sessions.countDocuments({ token: 'session-48' }), 1);
  t.is(await sessions.countDocuments({ token: 'session-49' }), 0);
  await auth.endOtherSessions(user.id, latest?.sessionId ?? '');
});

test.serial('the role of a user can be changed', async (t) => {
  await auth.setRole(user.id, 'operator');
  t.is((await auth.find(user.email))?.role, 'operator');
});

test.serial('the token of a password link is valid until it is used', async (t) => {
  t.is((await post('request-password-reset', { email: user.email })).status, 200);
  const [token = ''] = links;
  t.true(await auth.isResetTokenValid(token));
  t.false(await auth.isResetTokenValid('made-up'));
  t.is((await post('reset-password', { token, newPassword: 'another good password' })).status, 200);
  t.false(await auth.isResetTokenValid(token));
  t.is((await signIn('another good password')).status, 200);
});

test.serial('setting a password ends all sessions and invalidates the old password', async (t) => {
  const before = await sessionOf(await signIn('another good password'));
  t.truthy(before);
  await auth.setPassword(user.id, PASSWORD);
  t.deepEqual(await auth.sessions(user.id), []);
  t.is((await signIn('another good password')).status, 401);
  t.is((await signIn(PASSWORD)).status, 200);
});

test.serial(
  'a second factor works after a change of the master key, and without the old key after rekey',
  async (t) => {
    const cookies = (response: Response) =>
      response.headers
        .getSetCookie()
        .map((cookie) => cookie.split(';')[0])
        .join('; ');
    const cookie = cookies(await signIn(PASSWORD));
    const roleOf = async (own: string, strict: boolean) => {
      const found = await create(createKeyring(keys), strict).signedIn(new Headers({ Cookie: own }));
      return [found?.user.role, found?.needsTwoFactor];
    };
    // Operators can be required to have a second factor.
    await auth.setRole(user.id, 'operator');
    t.deepEqual(await roleOf(cookie, false), ['operator', false]);
    t.deepEqual(await roleOf(cookie, true), ['owner', true]);
    const enabled = await (await post('two-factor/enable', { password: PASSWORD }, { cookie })).json();
    const secret = new URL(enabled.totpURI).searchParams.get('secret') ?? '';
    const verified = await post('two-factor/verify-totp', { code: totp(secret) }, { cookie });
    t.is(verified.status, 200);
    t.deepEqual(await roleOf(cookies(verified), true), ['operator', false]);

    const signInWith = async (ring: Keyring, time = Date.now()) => {
      const by = create(ring);
      const waiting = cookies(await post('sign-in/email', { email: user.email, password: PASSWORD }, { by }));
      return (await post('two-factor/verify-totp', { code: totp(secret, time) }, { by, cookie: waiting }))
        .status;
    };
    const [old] = keys;
    if (old === undefined) return t.fail();
    const next = { id: 'k2', bytes: randomBytes(32) };
    const [both, alone] = [createKeyring([next, old]), createKeyring([next])];
    t.is(await signInWith(both), 200);
    await assertMasterKeys(store, both);
    await t.throwsAsync(assertMasterKeys(store, alone), {
      message: 'MASTER_KEYS: key "k1" is missing; 1 second factors of users are encrypted with it',
    });
    t.is(await rewrapSecrets(store, both), 1);
    t.is(await rewrapSecrets(store, both), 0);
    t.deepEqual(await countReferences(store, both), [
      { key: 'k2', webhookSecrets: 0, twoFactors: 1, receiptKeys: 0, schedules: 0, idempotencyKeys: 0 },
    ]);
    await assertMasterKeys(store, alone);
    // A code is accepted once, so this uses the next one.
    t.is(await signInWith(alone, Date.now() + 30_000), 200);
    const by = create(alone);
    const waiting = cookies(await post('sign-in/email', { email: user.email, password: PASSWORD }, { by }));
    const [code] = enabled.backupCodes;
    t.is((await post('two-factor/verify-backup-code', { code }, { by, cookie: waiting })).status, 200);
  },
);
