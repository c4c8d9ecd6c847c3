import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { WorkflowNotFoundError } from '@temporalio/client';
import test from 'ava';
import { pino } from 'pino';
import { RateLimiterMongo } from 'rate-limiter-flexible';
import { createCallWorkflow } from '../../api/calls/callWorkflow.ts';
import { createRetention, KEPT_KB } from '../../api/calls/retention.ts';
import { createKeyring, loadKeyring } from '../../platform/secrets/keyring.ts';
import { connectClient } from '../../platform/temporal/temporal.ts';
import { readEnv } from '../../schemas/env.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { createResults, mongodbPieces } from '../../store/calls/results.ts';
import { FREE_ENDS } from '../../store/calls/unchargedCalls.ts';
import { FILE_PIECE_BYTES } from '../../store/files/fileContents.ts';
import { createLinks, type StoredLink } from '../../store/files/links.ts';
import { largestCounts } from '../../store/mongo/counters.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount } from '../helpers/account.ts';
import { accountOf, callsOf } from '../helpers/ledgerCheck.ts';
import { useStack } from '../helpers/profiles.ts';
import { listenAsTarget, startDatabase } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

/** A request that the egress guard refuses in the worker. `body` makes the input larger than a workflow payload may be. */
const REFUSED = { url: 'http://127.0.0.1:9/', method: 'POST', body: 'x'.repeat(100_000) };

const LIMIT = { rate: 20, burst: 40 };
const LOG = pino({ level: 'silent' });

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
const env = readEnv(stack.env);
const client = await connectClient(env, loadKeyring(env));
test.after.always(async () => {
  await client.connection.close();
  await store.close();
  await stack.stop();
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
  const workflow = createCallWorkflow(client, (error) => t.fail(String(error)));
  const retention = createRetention({ workflow, store, limit: LIMIT, log: LOG });
  const end = () => retention.uncharged({ _id: 'no such call', accountId }, 'target_refused');
  await counter.penalty(accountId, FREE_ENDS);
  await end();
  t.is((await hash()).status, 200, 'one call above the limit, and one charged call');

  await counter.penalty(accountId, 99);
  await retention.uncharged({ _id: 'no such call', accountId }, 'pool_busy');
  t.is((await hash()).status, 200, 'a lack of workers does not count');
  await end();
  const refused = await hash();
  t.is(refused.status, 429);
  t.like(await refused.json(), { code: 'rate_limited' });
  t.true(Number(refused.headers.get('Retry-After')) > 3600);
});

test('results above the size that an account or the installation keeps expire after 15 minutes', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const own = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const results = createResults(mongodbPieces(own), createKeyring([{ id: 'a', bytes: randomBytes(32) }]));
  const workflow = { deleteHistory: async () => t.fail('no call ended without a charge') };
  const retention = createRetention({ workflow, store: own, limit: LIMIT, log: LOG });
  const tomorrow = new Date(Date.now() + 86_400_000);
  const data = randomBytes(2048);
  /** Stores and counts a result as one of this size. Returns the minutes for which it is still kept. */
  const keep = async (accountId: string, kb: number) => {
    const reference = await results.write('call', data, tomorrow);
    await retention.stored(accountId, reference, kb * 1024);
    const row = await own.results.findOne({ _id: `${reference.id}:0` });
    return Math.ceil(((row?.expiresAt.getTime() ?? 0) - Date.now()) / 60_000);
  };
  const [DAY, SHORT] = [1440, 15];
  t.is(await keep('acc_a', KEPT_KB.account), DAY);
  t.is(await keep('acc_a', 1), SHORT);
  t.is(await keep('acc_b', 1), DAY, 'another account');
  t.is(await keep('acc_c', KEPT_KB.installation), SHORT);
  t.is(await keep('acc_b', 1), DAY, 'what is not kept takes nothing from others');
  const [whole, part] = [KEPT_KB.installation / KEPT_KB.account, KEPT_KB.account / 2];
  for (let account = 0; account < whole - 1; account++)
    for (const kb of [part, part]) await keep(`acc_${account}`, kb - 1);
  t.is(await keep('acc_d', KEPT_KB.account), SHORT, 'the whole installation is above its limit');
});

test('the file that a call links stays for minutes until its response ends, then as long as its address, and is counted once', async (t) => {
  await using open = new AsyncDisposableStack();
  const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
  const own = open.adopt(await openStore(mongodbUri), (it) => it.close());
  const links = createLinks(mongodbPieces(own), createKeyring([{ id: 'a', bytes: randomBytes(32) }]));
  const workflow = { deleteHistory: async () => t.fail('no call ended without a charge') };
  const retention = createRetention({ workflow, store: own, limit: LIMIT, log: LOG });
  const bytes = randomBytes(FILE_PIECE_BYTES + 1);
  const minutesOf = async ({ content }: StoredLink): Promise<number[]> => {
    const ids = Array.from({ length: content.pieces }, (_, piece) => `${content.id}:${piece}`);
    const rows = await own.results.find({ _id: { $in: ids } }).toArray();
    return rows.map(({ expiresAt }) => Math.ceil((expiresAt.getTime() - Date.now()) / 60_000));
  };
  const counted = () => largestCounts(own, 'kept-results', 9);
  const made = async () => (await links.store('call', { bytes, type: 'a/b', name: 'a' })).file;
  const file = await made();
  t.deepEqual(await minutesOf(file), [15, 15]);
  t.deepEqual(await counted(), new Map());
  for (let repetition = 0; repetition < 2; repetition++) await retention.linked('acc_a', file);
  t.deepEqual(await minutesOf(file), [1440, 1440]);
  t.deepEqual(await counted(), new Map([['acc_a', 1025]]));

  const full = { ...(await made()), sizeBytes: KEPT_KB.account * 1024 };
  await retention.linked('acc_a', full);
  t.deepEqual(await minutesOf(full), [15, 15], 'no room');
  t.deepEqual(await counted(), new Map([['acc_a', 1025]]));
});

test('a replay whose result is no longer kept fails with idempotency_key_used', async (t) => {
  await using open = new AsyncDisposableStack();
  const target = createServer((_request, response) => response.end('x'.repeat(100_000)));
  open.defer(() => {
    target.closeAllConnections();
    target.close();
  });
  const url = `http://${await listenAsTarget(target)}/`;
  const account = await makeAccount(stack, 100);
  const ask = () => account.call('http-request', { url }, { 'Idempotency-Key': 'large' });
  t.is((await ask()).status, 200);
  const { balance } = await accountOf(store, account.accountId);
  t.is((await ask()).headers.get('Idempotent-Replayed'), 'true');
  const { idempotency } = await onlyCall(account.accountId);
  const expiresAt = new Date((idempotency?.expiresAt.getTime() ?? 0) + 3_600_000);
  t.is((await store.results.deleteMany({ expiresAt })).deletedCount, 1);
  const refused = await ask();
  t.is(refused.status, 409);
  t.like(await refused.json(), { code: 'idempotency_key_used' });
  t.is((await accountOf(store, account.accountId)).balance, balance);
});
