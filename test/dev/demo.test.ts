import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { createAuth } from '../../api/auth/auth.ts';
import { type Demo, ensureDemo } from '../../dev/demo.ts';
import { writeDemoFile } from '../../dev/demo-file.ts';
import { createLog } from '../../platform/log.ts';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { readEnv } from '../../schemas/env.ts';
import { loadRegistry } from '../../schemas/registry.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createApiKeys } from '../../store/keys/apiKeys.ts';
import { withStore } from '../helpers/account.ts';
import { startDatabase } from '../helpers/stack.ts';

type Database = Awaited<ReturnType<typeof startDatabase>>;

let first: Database;
let second: Database;
let dataDir: string;

test.before(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'demo-test-'));
  first = await startDatabase();
  second = await startDatabase();
});
test.after.always(async () => {
  await first?.stop();
  await second?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const env = () => readEnv({ DATA_DIR: dataDir, LOG_LEVEL: 'warn', FREE_CREDITS: '33' });

/** Creates the demo data as `npm start` does, including the file demo.json. */
async function start({ mongodbUri }: Database): Promise<Demo> {
  const demo = await ensureDemo({ env: env(), mongodbUri });
  const addresses = { baseUrl: '', dashboardUrl: '', temporalUiUrl: null, temporalAddress: '', codecUrl: '' };
  await writeDemoFile(dataDir, { ...demo, ...addresses, temporalNamespace: '', mongodbUri, internalUrl: '' });
  return demo;
}

/** Returns what the user, the password and the keys of the demo give access to. */
const readAccess = (database: Database, demo: Demo) =>
  withStore(database, async (store) => {
    const accounts = createAccounts(store);
    const log = createLog(env(), 'test', await loadRegistry());
    const auth = createAuth({ env: env(), store, accounts, keyring: loadKeyring(env()), mails: null, log });
    const apiKeys = createApiKeys(store, (error) => log.error(error));
    const keys = await Promise.all([demo.apiKey, demo.accountKey].map((key) => apiKeys.authenticate(key)));
    const user = await auth.find(demo.email);
    const account = await accounts.find(demo.accountId);
    await apiKeys.flush();
    return {
      role: user?.role,
      signsIn: user !== null && (await auth.hasPassword(user.id, demo.password)),
      balance: account?.balance,
      scopes: keys.map((found) => found?.key.scope),
      keys: await store.apiKeys.countDocuments({ accountId: demo.accountId }),
    };
  });

const WORKING = { role: 'operator', signsIn: true, balance: 33, scopes: ['tools', 'account'], keys: 2 };

test.serial('the first start creates an operator, an account and two keys', async (t) => {
  t.deepEqual(await readAccess(first, await start(first)), WORKING);
});

test.serial('a restart changes nothing', async (t) => {
  const before = await start(first);
  t.deepEqual(await start(first), before);
  t.deepEqual(await readAccess(first, before), WORKING);
});

test.serial('demo credentials that are no longer valid are replaced', async (t) => {
  const before = await start(first);
  await withStore(first, async (store) => {
    const apiKeys = createApiKeys(store, () => undefined);
    const found = await apiKeys.authenticate(before.apiKey);
    await apiKeys.revoke(before.accountId, found?.key._id ?? '');
    await apiKeys.flush();
    await store.db.collection('credentials').deleteMany({});
  });
  const after = await start(first);
  t.not(after.apiKey, before.apiKey);
  t.is(after.accountKey, before.accountKey);
  t.deepEqual(await readAccess(first, after), { ...WORKING, keys: 3 });
});

test.serial('another database gets new demo data', async (t) => {
  const before = await start(first);
  const after = await start(second);
  t.not(after.apiKey, before.apiKey);
  t.not(after.accountId, before.accountId);
  t.deepEqual(await readAccess(second, after), WORKING);
});

test.serial('a damaged demo.json is reported in one line, and nothing is replaced', async (t) => {
  const { apiKey } = await start(second);
  const path = join(dataDir, 'demo.json');
  const whole = await readFile(path, 'utf8');
  for (const damaged of [whole.slice(0, -20), '', '[]']) {
    await writeFile(path, damaged);
    const error = await t.throwsAsync(start(second));
    t.true(error?.message.startsWith(`${path} is damaged`), error?.message);
    t.notRegex(error?.message ?? '', /\n/);
    t.is(await readFile(path, 'utf8'), damaged);
  }
  await writeFile(path, whole);
  t.is((await start(second)).apiKey, apiKey);
});
