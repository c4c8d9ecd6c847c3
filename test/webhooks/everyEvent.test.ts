import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, Connection, ScheduleOverlapPolicy, WorkflowNotFoundError } from '@temporalio/client';
import test from 'ava';
import { machineEnv } from '../../dev/host.mjs';
import { EVENT_KINDS, EVENTS, type EventKind } from '../../schemas/events.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { newEvent, storeEvent } from '../../store/webhooks/events.ts';
import { workflowIds } from '../../workflows/contract.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { useStack } from '../helpers/profiles.ts';
import { startReceiver } from '../helpers/receiver.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const ADMIN = fileURLToPath(new URL('../../api/cli/admin.ts', import.meta.url));
const KEYS = '/api/v1/account/keys';
const WEBHOOKS = '/api/v1/account/webhooks';

const open = new AsyncDisposableStack();
let stack: SharedStack;
let store: Store;
let client: Client;

test.before(async (t) => {
  t.timeout(180_000);
  stack = open.adopt(await useStack(), (it) => it.stop());
  store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const connection = open.adopt(await Connection.connect({ address: stack.temporalAddress }), (it) =>
    it.close(),
  );
  client = new Client({ connection, namespace: stack.namespace });
});
test.after.always(() => open.disposeAsync());

/** Whether a workflow with this id was ever started. The sweeper starts none: it creates deliveries itself. */
async function wasStarted(workflowId: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId).describe();
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** Calls a tool that costs one credit. @returns the id of the call's dispatch */
async function spend(account: TestAccount): Promise<string> {
  const { status } = await account.call('hash-text', { text: 'a' });
  if (status !== 200) throw new Error(`the call ended with ${status}`);
  const call = await store.calls.findOne({ accountId: account.accountId });
  return workflowIds.dispatchForCall(call?._id ?? '');
}

async function changeKey({ accountId, addKey, manage }: TestAccount, path: string, init: RequestInit) {
  const { id } = await addKey({});
  const { ok, status } = await manage(`${KEYS}/${id}${path}`, undefined, {
    headers: { 'Content-Type': 'application/json' },
    ...init,
  });
  if (!ok) throw new Error(`${init.method} ${path} ended with ${status}`);
  return workflowIds.dispatchForAccount(accountId);
}

/** Causes an event of each kind as owners and operators do. @returns the id of the workflow that has to start */
const CAUSES: Record<EventKind, { credits: number; cause(account: TestAccount): Promise<string> }> = {
  'credits.low': { credits: 25, cause: spend },
  'credits.exhausted': { credits: 1, cause: spend },
  'credits.granted': {
    credits: 0,
    async cause({ accountId }) {
      const args = ['adjust', '--account', accountId, '--credits', '5', '--reason', 'test'];
      const env = { ...machineEnv(), ...stack.env };
      await promisify(execFile)(process.execPath, [ADMIN, ...args], { env, timeout: 60_000 });
      return workflowIds.dispatchForAccount(accountId);
    },
  },
  'api_key.created': {
    credits: 0,
    async cause({ accountId, manage }) {
      await manage(KEYS, { name: 'x', scopes: ['tools'] });
      return workflowIds.dispatchForAccount(accountId);
    },
  },
  'api_key.changed': {
    credits: 0,
    cause: (account) => changeKey(account, '', { method: 'PATCH', body: '{"name":"y"}' }),
  },
  'api_key.rotated': {
    credits: 0,
    cause: (account) => changeKey(account, '/rotate', { method: 'POST', body: '{}' }),
  },
  'api_key.revoked': { credits: 0, cause: (account) => changeKey(account, '', { method: 'DELETE' }) },
  // The workflow of the endpoint attempts the delivery of a test itself.
  'webhook.test': {
    credits: 0,
    async cause({ manage }) {
      const receiver = await startReceiver();
      open.defer(() => receiver.close());
      const { id } = await (await manage(WEBHOOKS, { url: receiver.url })).json();
      await manage(`${WEBHOOKS}/${id}/test`, {});
      await receiver.until(1);
      return workflowIds.webhookEndpoint(id);
    },
  },
};

for (const kind of EVENT_KINDS)
  test(`storing the event ${kind} starts its dispatch`, async (t) => {
    t.timeout(180_000);
    const { credits, cause } = CAUSES[kind];
    // The helpers write to the database directly, so that no dispatch of this account has started before.
    const account = await makeAccount(stack, credits);
    const workflowId = await cause(account);
    await until(`${workflowId} is started`, () => wasStarted(workflowId));
    const { accountId } = account;
    const event = await until('the event is not pending', async () =>
      store.events.findOne({ accountId, event: kind, pending: { $exists: false } }),
    );
    t.is(event.event, kind);
  });

test('an event that the orchestrator stores, such as that of an allowance, starts its dispatch', async (t) => {
  t.timeout(180_000);
  const { accountId } = await makeAccount(stack, 0);
  await createAccounts(store).setMonthlyAllowance(accountId, 7);
  await client.schedule.getHandle('allowance').trigger(ScheduleOverlapPolicy.BUFFER_ONE);
  await until('the dispatch is started', () => wasStarted(workflowIds.dispatchForAccount(accountId)));
  t.is(await store.events.countDocuments({ accountId, event: 'credits.granted' }), 1);
});

test('a dispatch starts after the commit of its events, once for a transaction, and never after an abort', async (t) => {
  await using own = new AsyncDisposableStack();
  const writer = own.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const [accountId, other] = [`acc_${randomUUID()}`, `acc_${randomUUID()}`];
  /** The accounts of the dispatches, and how many of their events other connections see at that time. */
  const started: [string, number][] = [];
  writer.onEvents(async (id) => {
    started.push([id, await store.events.countDocuments({ accountId: id, pending: true })]);
  });
  const fire = (id: string) => newEvent(id, 'api_key.created', EVENTS['api_key.created'].example);

  await t.throwsAsync(
    writer.transaction(async (session) => {
      await storeEvent(writer, fire(accountId), session);
      throw new Error('aborted');
    }),
    { message: 'aborted' },
  );
  t.deepEqual(started, []);

  const bucket = { _id: `bucket-${accountId}` };
  const change = { $inc: { tokens: 1 } };
  await store.buckets.updateOne(bucket, change, { upsert: true });
  let tries = 0;
  await writer.transaction(async (session) => {
    await storeEvent(writer, fire(accountId), session);
    await storeEvent(writer, fire(accountId), session);
    if (++tries > 1) return;
    await storeEvent(writer, fire(other), session);
    // A change by another connection makes the first try conflict.
    await store.buckets.updateOne(bucket, change);
    await writer.buckets.updateOne(bucket, change, { session });
  });
  t.is(tries, 2);
  t.deepEqual(started, [[accountId, 2]]);
});
