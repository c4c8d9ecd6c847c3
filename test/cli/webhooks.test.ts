import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { parseMasterKeys } from '../../schemas/envValues.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { signingSecrets } from '../../store/webhooks/webhookEndpoints.ts';
import { makeAccount } from '../helpers/account.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const ADMIN = fileURLToPath(new URL('../../api/cli/admin.ts', import.meta.url));
const masterKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const OLD = masterKey('old');

let stack: Stack;
let store: Store;

test.before(async (t) => {
  t.timeout(180_000);
  stack = await startStack({ pools: ['orchestrator', 'delivery'], env: { MASTER_KEYS: OLD } });
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

async function admin(args: string[], env: Record<string, string> = {}) {
  const { stdout } = await promisify(execFile)(process.execPath, [ADMIN, ...args, '--json'], {
    env: { ...machineEnv(), ...stack.env, ...env },
    timeout: 60_000,
  });
  return JSON.parse(stdout);
}

async function makeEndpoint(t: { teardown(end: () => void): void }) {
  const account = await makeAccount(stack, 0);
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const response = await account.manage('/api/v1/account/webhooks', { url: receiver.url });
  const { id, secret }: { id: string; secret: string } = await response.json();
  return { account, receiver, id, secret };
}

test.serial('endpoints are listed, disabled, enabled and deleted; an adjustment is delivered', async (t) => {
  const { account, receiver, id } = await makeEndpoint(t);
  const { accountId } = account;
  const { items } = await admin(['webhooks', '--account', accountId]);
  t.is(items.length, 1);
  t.like(items[0], { id, url: receiver.url, state: 'active' });

  await admin(['adjust', '--account', accountId, '--credits', '5', '--reason', 'r', '--reference', 'x']);
  const [delivery] = await receiver.until(1);
  t.deepEqual(JSON.parse(delivery?.body ?? '').data, {
    balance: 5,
    amount: 5,
    source: 'adjustment',
    reference: 'x',
  });

  t.like(await admin(['webhooks', 'disable', '--webhook', id]), { id, state: 'disabled' });
  await admin(['adjust', '--account', accountId, '--credits', '5', '--reason', 'r']);
  await until(
    'a delivery is held',
    async () => (await store.deliveries.countDocuments({ state: 'held' })) === 1,
  );
  t.like(await admin(['webhooks', 'enable', '--webhook', id]), {
    id,
    state: 'active',
    consecutiveFailures: 0,
  });
  t.deepEqual(await admin(['webhooks', 'delete', '--webhook', id]), { deleted: id });
  t.is((await account.manage(`/api/v1/account/webhooks/${id}`)).status, 404);
  await t.throwsAsync(admin(['webhooks', 'enable', '--webhook', id]), {
    message: /there is no webhook endpoint/,
  });
  t.is(receiver.received.length, 1);
});

// Must run last, because the running stack does not have the master key that this test adds.
test.serial(
  'rekey: all secrets can be decrypted with only the new master key, including one that is not activated yet',
  async (t) => {
    const { account, id, secret } = await makeEndpoint(t);
    const path = `/api/v1/account/webhooks/${id}/rotate-secret`;
    const rotated: { secret: string } = await (await account.manage(path, {})).json();
    const fresh = masterKey('fresh');
    const result = await admin(['rekey'], { MASTER_KEYS: `${fresh},${OLD}` });
    t.like(result, { current: 'fresh' });
    t.true(result.rewrapped >= 2);
    t.deepEqual(
      result.references.map(({ key }: { key: string }) => key),
      ['fresh'],
    );
    const row = await store.webhookEndpoints.findOne({ _id: id });
    if (row === null) return t.fail();
    t.deepEqual(signingSecrets(createKeyring(parseMasterKeys(fresh)), row, new Date()), {
      own: secret,
      all: [secret, rotated.secret],
    });
    t.is((await admin(['rekey'], { MASTER_KEYS: `${fresh},${OLD}` })).rewrapped, 0);
  },
);
