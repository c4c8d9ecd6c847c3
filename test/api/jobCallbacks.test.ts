import { createHmac } from 'node:crypto';
import test from 'ava';
import type { CallbackSecretRow } from '../../schemas/jobs.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { type Delivery, type Receiver, startReceiver } from '../helpers/receiver.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';

const SECRET_PATH = '/api/v1/account/callback-secret';
const HASH = { tool: 'hash-text', input: { text: 'abc' } };

let stack: SharedStack;
let store: Store;

test.before(async () => {
  stack = await useStack();
  store = await openStore(stack.mongodbUri);
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

const secretOf = async (account: TestAccount): Promise<CallbackSecretRow> =>
  (await account.manage(SECRET_PATH)).json();

/** The signature that the documentation of webhooks describes. */
const signatureOf = ({ body, headers }: Delivery, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.${body}`).digest('hex')}`;

async function withReceiver(use: (receiver: Receiver) => Promise<void>): Promise<void> {
  const receiver = await startReceiver();
  try {
    await use(receiver);
  } finally {
    receiver.close();
  }
}

test('the end of a job is posted once, signed with the secret of the account', (t) =>
  withReceiver(async (receiver) => {
    const account = await makeAccount(stack, 10);
    const jobs = jobsOf(account, stack.baseUrl);
    const created = await jobs.create({ ...HASH, callbackUrl: receiver.url, metadata: { order: '7' } });
    t.like(created.callback, { url: receiver.url, attempts: 0, statusCode: null, error: null });
    const [delivery] = await receiver.until(1);
    if (delivery === undefined) throw new Error('no delivery');
    const { callback, ...data } = await jobs.ended(created.id);
    t.deepEqual(JSON.parse(delivery.body), {
      id: `cbk_${created.id}`,
      event: 'job.completed',
      createdAt: data.endedAt?.replace('Z', '+00:00'),
      data,
    });
    t.is(delivery.headers['x-service-event'], 'job.completed');
    t.is(delivery.headers['webhook-id'], `cbk_${created.id}`);
    const { secret } = await secretOf(account);
    t.regex(secret, /^whsec_/);
    t.is(delivery.headers['x-service-signature'], signatureOf(delivery, secret));
    await until('it is delivered', async () => (await jobs.get(created.id)).callback?.state === 'delivered');
    t.like((await jobs.get(created.id)).callback, { attempts: 1, statusCode: 200, error: null });
    // Callbacks are not events of the account.
    const { items }: { items: { event: string }[] } = await (
      await account.manage('/api/v1/account/events')
    ).json();
    t.deepEqual([...new Set(items.map(({ event }) => event))], ['api_key.created']);
    t.is(receiver.received.length, 1);
  }));

test('failed attempts are repeated with the same body, and the last one is final', (t) =>
  withReceiver(async (receiver) => {
    const account = await makeAccount(stack, 10);
    const jobs = jobsOf(account, stack.baseUrl);
    receiver.answer(() => ({ status: 500 }));
    const { id } = await jobs.create({ ...HASH, callbackUrl: receiver.url });
    await until('it has failed', async () => (await jobs.get(id)).callback?.state === 'failed');
    // The schedule of the stack has three waits.
    const received = receiver.received.filter(({ body }) => body.includes(id));
    t.is(received.length, 4);
    t.is(new Set(received.map(({ body }) => body)).size, 1);
    t.like((await jobs.get(id)).callback, { attempts: 4, statusCode: 500 });
  }));

test('jobs that fail or are cancelled before they start are posted too', (t) =>
  withReceiver(async (receiver) => {
    const account = await makeAccount(stack, 10);
    const jobs = jobsOf(account, stack.baseUrl);
    const failing = { tool: 'http-request', input: { url: 'http://127.0.0.1:9/' } };
    const failed = await jobs.create({ ...failing, callbackUrl: receiver.url });
    const [first] = await receiver.until(1);
    t.like(JSON.parse(first?.body ?? ''), {
      data: { id: failed.id, state: 'failed', code: 'target_refused', charged: 0 },
    });
    const waiting = await jobs.create({ ...HASH, callbackUrl: receiver.url });
    await jobs.cancel(waiting.id);
    const [, second] = await receiver.until(2);
    const { data } = JSON.parse(second?.body ?? '');
    const row = await jobs.ended(waiting.id);
    // It may have run before it was cancelled.
    t.like(data, { id: waiting.id, state: row.state, charged: row.charged });
    t.true(['cancelled', 'succeeded'].includes(row.state));
  }));

test('during a rotation both secrets sign, and a second one must be forced', (t) =>
  withReceiver(async (receiver) => {
    const account = await makeAccount(stack, 10);
    const { secret } = await secretOf(account);
    const rotate = (force: boolean) => account.manage(`${SECRET_PATH}/rotate`, { force });
    const rotated: CallbackSecretRow = await (await rotate(false)).json();
    t.is(rotated.secret, secret);
    t.regex(rotated.nextSecret ?? '', /^whsec_/);
    await isProblem(t, await rotate(false), 'rotation_pending');

    await jobsOf(account, stack.baseUrl).create({ ...HASH, callbackUrl: receiver.url });
    const [delivery] = await receiver.until(1);
    if (delivery === undefined) throw new Error('no delivery');
    t.is(delivery.headers['x-service-signature'], signatureOf(delivery, secret));
    t.is(String(delivery.headers['webhook-signature']).split(' ').length, 2);

    const forced: CallbackSecretRow = await (await rotate(true)).json();
    t.not(forced.nextSecret, rotated.nextSecret);
    await store.callbackSecrets.updateOne({ _id: account.accountId }, { $set: { 'next.from': new Date() } });
    t.deepEqual(await secretOf(account), { secret: forced.nextSecret, nextSecret: null, nextFrom: null });
    const toolsKey = await fetch(`${stack.baseUrl}${SECRET_PATH}`, {
      headers: { Authorization: `Bearer ${account.toolsKey}` },
    });
    await isProblem(t, toolsKey, 'insufficient_scope');
  }));
