import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'ava';
import { audit } from '../../store/ledger/audit.ts';
import { makeAccount, withStore } from '../helpers/account.ts';
import { startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** Milliseconds after which an outage must be over. */
const RECOVERED_MS = 30_000;

/** Changes an account in a transaction that it never ends. Arguments: URI of the database, id of the account. */
const SCRIPT = `
  import { openStore } from './store/mongo/mongo.ts';
  const [uri, _id] = process.argv.slice(1);
  const store = await openStore(uri);
  await store.transaction(async (session) => {
    await store.accounts.updateOne({ _id }, { $inc: { keysMade: 1 } }, { session });
    console.log('open');
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  });
`;

test('a process that is killed within a transaction delays one account for at most 30 s, and the others not at all', async (t) => {
  await using open = new AsyncDisposableStack();
  const stack = open.adopt(await startStack({ pools: ['orchestrator', 'cpu'] }), (it) => it.stop());
  const [account, other] = [await makeAccount(stack, 10), await makeAccount(stack, 10)];
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', SCRIPT, stack.mongodbUri, account.accountId],
    { stdio: ['ignore', 'pipe', 'inherit'], timeout: 60_000 },
  );
  open.defer(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'close');
  const killedAt = Date.now();

  // A restart reads and creates indexes, which must not wait for the transaction either.
  await stack.restart('api');
  t.is((await other.call('hash-text', { text: 'other' })).status, 200);
  const statuses = new Set<number>();
  await until(
    'the account is served',
    async () => {
      const { status } = await account.call('hash-text', { text: 'own' }, { 'Idempotency-Key': 'own' });
      statuses.add(status);
      return status === 200;
    },
    RECOVERED_MS,
  );
  t.log(
    `the account was served again after ${Date.now() - killedAt} ms; statuses: ${[...statuses].join(', ')}`,
  );
  const unexpected = [...statuses].filter((status) => status !== 200 && status !== 503);
  t.deepEqual(unexpected, []);
  await withStore(stack, async (store) => {
    t.is((await store.accounts.findOne({ _id: account.accountId }))?.keysMade, 2);
    t.deepEqual((await audit(store)).drift, []);
  });
});
