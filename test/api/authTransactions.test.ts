import { randomBytes } from 'node:crypto';
import test from 'ava';
import type { ClientSession } from 'mongodb';
import { type Auth, createAuth } from '../../api/auth/auth.ts';
import { createLog } from '../../platform/log.ts';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { readEnv } from '../../schemas/env.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { type Credentials, freshCredentials } from '../helpers/session.ts';
import { startDatabase } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const ORIGIN = 'http://localhost:8080';
/** MongoDB's error code of an aborted transaction. */
const WRITE_CONFLICT = 112;

let database: Awaited<ReturnType<typeof startDatabase>>;
/** The connection of the sign-ups, whose commands are observed. */
let store: Store;
let auth: Auth;

test.before(async () => {
  database = await startDatabase();
  store = await openStore(database.mongodbUri, undefined, true);
  const env = { ...readEnv({}), PUBLIC_URL: ORIGIN };
  const accounts = createAccounts(store);
  const log = createLog(env, 'test', await loadRegistry());
  const keyring = createKeyring([{ id: 'k1', bytes: randomBytes(32) }]);
  auth = createAuth({ env, store, accounts, keyring, mails: null, log });
  await signUp(freshCredentials());
  await until('the index of email addresses', async () =>
    (await store.db.collection('users').indexes()).some(({ key }) => 'email' in key),
  );
});
test.after.always(async () => {
  await store?.close();
  await database?.stop();
});

const signUp = (credentials: Credentials): Promise<Response> =>
  auth.handler(
    new Request(`${ORIGIN}/api/auth/sign-up/email`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: ORIGIN },
      body: JSON.stringify({ name: 'Test', ...credentials }),
    }),
  );

/** Inserts a user in a transaction that stays open, so that another insert of the address fails with a write conflict. */
async function insertUser(session: ClientSession, email: string): Promise<void> {
  session.startTransaction();
  await store.db.collection('users').insertOne({ email }, { session });
}

/** Resolves when a command of the sign-ups has failed with a write conflict. */
const writeConflict = (): Promise<void> =>
  new Promise((resolve) => {
    store.client.on('commandFailed', function failed({ failure }) {
      if (!('code' in failure) || failure.code !== WRITE_CONFLICT) return;
      store.client.off('commandFailed', failed);
      resolve();
    });
  });

const usersOf = ({ email }: Credentials) => store.db.collection('users').countDocuments({ email });

test.serial('a sign-up whose transaction was aborted by a conflict is repeated', async (t) => {
  const credentials = freshCredentials();
  await store.client.withSession(async (session) => {
    await insertUser(session, credentials.email);
    const [conflict, response] = [writeConflict(), signUp(credentials)];
    await conflict;
    await session.abortTransaction();
    const { status, headers } = await response;
    t.is(status, 200);
    t.is(headers.getSetCookie().filter((cookie) => cookie.includes('session_token=')).length, 1);
  });
  t.is(await usersOf(credentials), 1);
});

test.serial('a sign-up that conflicts with a completed one reports that the user exists', async (t) => {
  const credentials = freshCredentials();
  await store.client.withSession(async (session) => {
    await insertUser(session, credentials.email);
    const [conflict, response] = [writeConflict(), signUp(credentials)];
    await conflict;
    await session.commitTransaction();
    const refusal = await response;
    t.is(refusal.status, 422);
    t.like(await refusal.json(), { code: 'USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL' });
  });
  t.is(await usersOf(credentials), 1);
});

test.serial('a sign-up that conflicts at each attempt fails as temporary and changes nothing', async (t) => {
  const credentials = freshCredentials();
  await store.client.withSession(async (session) => {
    await insertUser(session, credentials.email);
    await t.throwsAsync(signUp(credentials), { name: 'ServiceError', code: 'pool_busy' });
    await session.abortTransaction();
  });
  t.is(await usersOf(credentials), 0);
  t.is((await signUp(credentials)).status, 200);
});

test.serial('of many sign-ups at the same time, few have an open transaction', async (t) => {
  const open = new Set<string>();
  let most = 0;
  const sessionOf = (command: { lsid?: { id: { toString(): string } } }) => String(command.lsid?.id);
  store.client.on('commandStarted', ({ command, commandName }) => {
    // Other transactions create the accounts of the users.
    if (command.startTransaction === true && command.aggregate === 'users') open.add(sessionOf(command));
    if (commandName === 'commitTransaction') open.delete(sessionOf(command));
    most = Math.max(most, open.size);
  });
  const responses = await Promise.all(Array.from({ length: 24 }, () => signUp(freshCredentials())));
  t.deepEqual([...new Set(responses.map(({ status }) => status))], [200]);
  t.true(most > 1 && most <= 8, `${most}`);
});
