import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import test from 'ava';
import { pino } from 'pino';
import { RateLimiterMongo } from 'rate-limiter-flexible';
import { createUncharged, FREE_ENDS } from '../../api/calls/uncharged.ts';
import { readEnv } from '../../schemas/env.ts';
import type { CallDoc } from '../../store/callDocs.ts';
import { loadKeyring } from '../../store/keyring.ts';
import { openStore, type Store } from '../../store/mongo.ts';
import { connectClient } from '../../workers/platform/temporal.ts';
import { makeAccount } from '../helpers/account.ts';
import { callsOf } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** A request that the egress guard refuses in the worker. `body` makes the input larger than a workflow payload may be. */
const REFUSED = { url: 'http://127.0.0.1:9/', method: 'POST', body: 'x'.repeat(100_000) };

let stack: SharedStack;
let store: Store;
let client: Client;

test.before(async () => {
  stack = await useStack();
  store = await openStore(stack.mongodbUri);
  const env = readEnv(stack.env);
  client = await connectClient(env, loadKeyring(env));
});
test.after.always(async () => {
  await client?.connection.close();
  await store?.close();
  await stack?.stop();
});

async function onlyCall(accountId: string): Promise<CallDoc> {
  const [call] = await callsOf(store, accountId);
  if (call === undefined) throw new Error('no call');
  return call;
}

/** Whether Temporal has the history of a call. */
const hasHistory = async (callId: string): Promise<boolean> => {
  try {
    await client.workflow.getHandle(callId).describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
};

const inputsOf = (callId: string) => store.results.countDocuments({ _id: { $regex: `^${callId}:input:` } });

test('a call that was refused leaves neither its input nor its history', async (t) => {
  const account = await makeAccount(stack, 100);
  const response = await account.call('http-request', REFUSED);
  t.is(response.status, 422);
  const { _id: callId, state } = await onlyCall(account.accountId);
  t.is(state, 'refunded');
  await until('the input to be deleted', async () => (await inputsOf(callId)) === 0);
  await until('the history to be deleted', async () => !(await hasHistory(callId)));
});

test('the input of a call that was charged is deleted at its end, and its history stays', async (t) => {
  const account = await makeAccount(stack, 100);
  t.is((await account.call('hash-text', { text: 'x'.repeat(100_000) })).status, 200);
  const { _id: callId } = await onlyCall(account.accountId);
  await until('the input to be deleted', async () => (await inputsOf(callId)) === 0);
  t.true(await hasHistory(callId));
});

test('a refusal is replayed with its Idempotency-Key, also after its history was deleted', async (t) => {
  const account = await makeAccount(stack, 100);
  const ask = () => account.call('http-request', REFUSED, { 'Idempotency-Key': 'k' });
  const first = await (await ask()).text();
  const { _id: callId } = await onlyCall(account.accountId);
  await until('the input to be deleted', async () => (await inputsOf(callId)) === 0);
  const again = await ask();
  t.is(again.headers.get('Idempotent-Replayed'), 'true');
  t.is(await again.text(), first);

  const { namespace } = client.options;
  await client.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: callId },
  });
  await until('the history to be deleted', async () => !(await hasHistory(callId)));
  const last = await ask();
  t.is(last.status, 422);
  t.is(last.headers.get('Idempotent-Replayed'), 'true');
  const { code, requestId } = JSON.parse(first);
  t.like(await last.json(), { code, requestId });
  t.is((await callsOf(store, account.accountId)).length, 1);
});

test('an account whose calls end without a charge too often is paused, and charged calls permit more', async (t) => {
  const account = await makeAccount(stack, 100);
  const { accountId } = account;
  const hash = () => account.call('hash-text', { text: 'a' });
  t.is((await hash()).status, 200);
  const counter = new RateLimiterMongo({
    storeClient: store.client,
    dbName: store.db.databaseName,
    tableName: 'attempts',
    keyPrefix: 'uncharged',
    points: FREE_ENDS,
    duration: 86_400,
  });
  const limit = { rate: 20, burst: 40 };
  const uncharged = createUncharged({ client, store, limit, log: pino({ level: 'silent' }) });
  const end = () => uncharged.ended({ _id: 'no such call', accountId }, 'target_refused');
  await counter.penalty(accountId, FREE_ENDS);
  await end();
  t.is((await hash()).status, 200, 'one call above the limit, and one charged call');

  await counter.penalty(accountId, 99);
  await uncharged.ended({ _id: 'no such call', accountId }, 'pool_busy');
  t.is((await hash()).status, 200, 'a lack of workers does not count');
  await end();
  const refused = await hash();
  t.is(refused.status, 429);
  t.like(await refused.json(), { code: 'rate_limited' });
  t.true(Number(refused.headers.get('Retry-After')) > 3600);
});
