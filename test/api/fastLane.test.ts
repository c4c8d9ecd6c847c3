import type { Client } from '@temporalio/client';
import test from 'ava';
import { loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { TASK_QUEUES, toolQueue } from '../../workflows/contract.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, auditWhenIdle, callsOf } from '../helpers/ledgerCheck.ts';
import { internalUrlOf } from '../helpers/processLog.ts';
import { type Stack, startStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** How often a worker that is too busy to accept a call may leave it to the orchestrator. */
const ATTEMPTS = 20;

let stack: Stack;
let store: Store;
let client: Client;

test.before(async () => {
  stack = await startStack({ pools: ['orchestrator', 'cpu'], env: { LOG_LEVEL: 'info' } });
  store = await openStore(stack.mongodbUri);
  const env = readEnv(stack.env);
  client = await connectClient(env, loadKeyring(env));
});
test.after.always(async () => {
  await client?.connection.close();
  await store?.close();
  await stack?.stop();
});

/** The task queue of the workflow of an account's latest call. */
async function queueOfLatest(accountId: string): Promise<string> {
  const rows = await callsOf(store, accountId);
  return (await client.workflow.getHandle(rows.at(-1)?._id ?? '').describe()).taskQueue;
}

test.serial('a worker of the pool runs whole calls of a fast tool', async (t) => {
  const account = await makeAccount(stack, ATTEMPTS);
  const queues: string[] = [];
  while (!queues.includes(toolQueue('cpu', 'fast')) && queues.length < ATTEMPTS) {
    t.is((await account.call('hash-text', { text: 'abc' })).status, 200);
    queues.push(await queueOfLatest(account.accountId));
  }
  t.is(queues.at(-1), toolQueue('cpu', 'fast'));
  t.deepEqual(await auditWhenIdle(store), []);
  t.is((await accountOf(store, account.accountId)).balance, ATTEMPTS - queues.length);
});

test.serial('calls of other tools of the pool run on the orchestrator', async (t) => {
  const account = await makeAccount(stack, 2);
  t.is((await account.call('bcrypt-hash', { password: 'secret', workFactor: 4 })).status, 200);
  t.is(await queueOfLatest(account.accountId), TASK_QUEUES.orchestrator);
});

test.serial('a worker that does not answer leaves the call to the orchestrator, once', async (t) => {
  const account = await makeAccount(stack, 5);
  await stack.kill('cpu', 'SIGSTOP');
  const answer = account.call('hash-text', { text: 'stopped' });
  await until('the call has a workflow', async () => {
    const [row] = await callsOf(store, account.accountId);
    if (row === undefined) return false;
    return client.workflow
      .getHandle(row._id)
      .describe()
      .then(
        () => true,
        () => false,
      );
  });
  t.is(await queueOfLatest(account.accountId), TASK_QUEUES.orchestrator);
  await stack.kill('cpu', 'SIGCONT');
  t.is((await answer).status, 200);
  t.is(await queueOfLatest(account.accountId), TASK_QUEUES.orchestrator);
  t.is((await callsOf(store, account.accountId)).length, 1);
  t.is((await accountOf(store, account.accountId)).balance, 4);
  t.deepEqual(await auditWhenIdle(store), []);
});

test.serial('a worker accepts calls of this installation only', async (t) => {
  const url = `${await internalUrlOf(stack, 'cpu')}/calls`;
  const refused = await fetch(url, { method: 'POST', body: Buffer.alloc(100) });
  t.is(refused.status, 503);
  const tooLarge = await fetch(url, { method: 'POST', body: Buffer.alloc(300 * 1024) }).then(
    ({ status }) => status,
    () => 503, // the worker may close the connection before it has read the body
  );
  t.is(tooLarge, 503);
  t.is((await fetch(url)).status, 404);
});
