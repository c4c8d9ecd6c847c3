import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { assertMasterKeys } from '../../store/secrets/masterKeys.ts';
import { createWebhookEndpoints } from '../../store/webhooks/webhookEndpoints.ts';
import { startDatabase } from '../helpers/stack.ts';

const masterKey = (id: string) => ({ id, bytes: randomBytes(32) });

/** Starts a process of the service. Returns what it wrote to stderr, and its exit status. */
const start = (args: string[], env: Record<string, string>): Promise<{ status: unknown; stderr: string }> =>
  new Promise((resolve) => {
    const [script = '', ...rest] = args;
    const path = fileURLToPath(new URL(`../../${script}`, import.meta.url));
    execFile(process.execPath, [path, ...rest], { env: { ...machineEnv(), ...env } }, (error, _out, stderr) =>
      resolve({ status: error?.code ?? 0, stderr }),
    );
  });

test('no process starts if it lacks the master keys that its database requires', async (t) => {
  t.timeout(180_000);
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const store = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const [first, second] = [masterKey('a'), masterKey('b')];
  const ring = createKeyring([first]);
  await assertMasterKeys(store, ring);
  await assertMasterKeys(store, createKeyring([second, first]));
  await assertMasterKeys(store, createKeyring([second]));

  const accountId = `acc_${randomUUID()}`;
  await store.accounts.insertOne({
    _id: accountId,
    email: `${accountId}@example.com`,
    createdAt: new Date(),
    balance: 0,
    reserved: 0,
    shortfall: 0,
    seq: 0,
    monthlyAllowance: 0,
    keysMade: 0,
    running: {},
    holds: {},
    journal: [],
  });
  const endpoint = { accountId, url: 'http://localhost/', events: null };
  await createWebhookEndpoints(store, ring).create(endpoint);
  await assertMasterKeys(store, createKeyring([second, first]));
  await t.throwsAsync(assertMasterKeys(store, createKeyring([second])), {
    message: 'MASTER_KEYS: key "a" is missing; 1 stored webhook secrets are encrypted with it',
  });
  await t.throwsAsync(assertMasterKeys(store, createKeyring([second, masterKey('a')])), {
    message: /^MASTER_KEYS: key "a" differs from [^\n]+$/,
  });

  const env = {
    MONGODB_URI: mongodbUri,
    TEMPORAL_ADDRESS: '127.0.0.1:9',
    PORT: '0',
    LOG_LEVEL: 'silent',
    MASTER_KEYS: `b:${second.bytes.toString('base64')}`,
  };
  for (const args of [['api/server.ts'], ['workers/main.ts', '--pool', 'cpu']]) {
    const { status, stderr } = await start(args, env);
    t.is(status, 2, args[0]);
    t.regex(stderr, /^MASTER_KEYS: key "a" is missing;[^\n]*\n$/);
  }
});
