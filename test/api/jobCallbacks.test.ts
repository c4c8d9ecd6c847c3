import { createHmac } from 'node:crypto';
import test from 'ava';
import type { BatchCallbackRow } from '../../schemas/batches.ts';
import type { CallbackSecretRow, JobCallbackRow } from '../../schemas/jobs.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { batchesOf } from '../helpers/batches.ts';
import { jobsOf } from '../helpers/jobs.ts';
import { isProblem } from '../helpers/problem.ts';
import { useStack } from '../helpers/profiles.ts';
import { type Delivery, type Receiver, startReceiver } from '../helpers/receiver.ts';
import { until } from '../helpers/until.ts';

const SECRET_PATH = '/api/v1/account/callback-secret';
const HASH = { tool: 'hash-text', input: { text: 'abc' } };

const stack = await useStack();
const store = await openStore(stack.mongodbUri);
test.after.always(async () => {
  await store.close();
  await stack.stop();
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

test('the callback of a job is listed with its attempts and sent again, whether it failed or was delivered', (t) =>
  withReceiver(async (receiver) => {
    const account = await makeAccount(stack, 10);
    const jobs = jobsOf(account, stack.baseUrl);
    const listed = async (id: string): Promise<JobCallbackRow[]> =>
      (await (await jobs.request(`/${id}/callbacks`)).json()).items;
    const resend = async (id: string): Promise<unknown> =>
      (await jobs.request(`/${id}/callbacks/resend`, { method: 'POST' })).json();
    const reached = (id: string, state: string): Promise<unknown> =>
      until(`it is ${state}`, async () => (await listed(id))[0]?.state === state);

    const silent = await jobs.create(HASH);
    await jobs.ended(silent.id);
    t.deepEqual([await listed(silent.id), await resend(silent.id)], [[], { queued: 0 }]);

    receiver.answer(() => ({ status: 500 }));
    const { id } = await jobs.create({ ...HASH, callbackUrl: receiver.url });
    await reached(id, 'failed');
    const [failed] = await listed(id);
    t.like(failed, {
      id: `cbk_${id}`,
      event: 'job.completed',
      url: receiver.url,
      attempts: 4,
      statusCode: 500,
    });
    t.deepEqual(
      failed?.history.map(({ attempt, statusCode, error }) => [attempt, statusCode, error]),
      [1, 2, 3, 4].map((attempt) => [attempt, 500, null]),
    );
    // Sent again, it has the whole schedule before it.
    t.deepEqual(await resend(id), { queued: 1 });
    await receiver.until(8);
    await reached(id, 'failed');
    receiver.answer(() => ({}));
    t.deepEqual(await resend(id), { queued: 1 });
    await reached(id, 'delivered');
    t.deepEqual(await resend(id), { queued: 1 });
    await receiver.until(10);
    await until('all attempts are listed', async () => (await listed(id))[0]?.history.length === 10);
    t.like((await jobs.get(id)).callback, { state: 'delivered', attempts: 10, statusCode: 200 });
    t.is(receiver.received.length, 10);
    t.is(new Set(receiver.received.map(({ body }) => body)).size, 1);

    const other = jobsOf(await makeAccount(stack, 10), stack.baseUrl);
    await isProblem(t, await other.request(`/${id}/callbacks`), 'not_found');
    await isProblem(t, await other.request(`/${id}/callbacks/resend`, { method: 'POST' }), 'not_found');
  }));

test('callbacks of a batch are sent again: those that are named, or those that failed', (t) =>
  withReceiver(async (receiver) => {
    const account = await makeAccount(stack, 10);
    const batches = batchesOf(account, stack.baseUrl);
    receiver.answer(({ event }) => ({ status: event === 'batch.paused' ? 500 : 200 }));
    const inputs = ['a', 'b'].map((text) => ({ text }));
    const options = { maxCredits: 1, callbackUrl: receiver.url };
    const { id } = await batches.create({ tool: 'hash-text', inputs, ...options });
    await batches.reached(id, 'paused');
    await batches.act(id, 'resume', { maxCredits: 2 });
    const listed = async (): Promise<BatchCallbackRow[]> =>
      (await (await batches.request(`/${id}/callbacks`)).json()).items;
    const settled = () =>
      until('no callback is pending', async () => {
        const rows = await listed();
        return rows.length === 2 && rows.every(({ state }) => state !== 'pending') && rows;
      });
    const [completed, paused] = await settled();
    t.like(completed, { event: 'batch.completed', state: 'delivered', attempts: 1 });
    t.like(paused, { event: 'batch.paused', state: 'failed', attempts: 4 });
    t.is(paused?.history.length, 4);

    receiver.answer(() => ({}));
    t.deepEqual(await batches.act(id, 'callbacks/resend', {}), { queued: 1 });
    t.deepEqual(
      (await settled()).map(({ state, attempts }) => [state, attempts]),
      [
        ['delivered', 1],
        ['delivered', 5],
      ],
    );
    const callbackIds = [completed?.id ?? '', `cbk_${crypto.randomUUID()}`];
    t.deepEqual(await batches.act(id, 'callbacks/resend', { callbackIds }), { queued: 1 });
    await until('it was attempted twice', async () => (await listed())[0]?.attempts === 2);
    const sent = receiver.received.filter((delivery) => delivery.id === completed?.id);
    t.deepEqual([sent.length, new Set(sent.map(({ body }) => body)).size], [2, 1]);

    const stranger = batchesOf(await makeAccount(stack, 10), stack.baseUrl);
    const headers = { 'Content-Type': 'application/json' };
    const stolen = await stranger.request(`/${id}/callbacks/resend`, { method: 'POST', headers, body: '{}' });
    await isProblem(t, stolen, 'not_found');
  }));

test('a callback that waits for its next attempt is sent at once, and keeps its place in the schedule', (t) =>
  withReceiver(async (receiver) => {
    const account = await makeAccount(stack, 10);
    const jobs = jobsOf(account, stack.baseUrl);
    const { id } = await jobs.create({ ...HASH, callbackUrl: receiver.url });
    await until('it is delivered', async () => (await jobs.get(id)).callback?.state === 'delivered');
    receiver.answer(() => ({ status: 500 }));
    // As after the third attempt of a long schedule.
    const waiting = {
      'callback.state': 'pending',
      'callback.attempts': 3,
      'callback.tries': 3,
      'callback.nextAt': new Date(Date.now() + 3_600_000),
    } as const;
    await store.jobs.updateOne({ _id: id }, { $set: waiting });
    await jobs.request(`/${id}/callbacks/resend`, { method: 'POST' });
    await until('it has failed', async () => (await jobs.get(id)).callback?.state === 'failed');
    t.is(receiver.received.length, 2, 'only the last attempt of the schedule was left');
  }));

test('a callback that is sent again during its last attempt gets another one', (t) =>
  withReceiver(async (receiver) => {
    const account = await makeAccount(stack, 10);
    const jobs = jobsOf(account, stack.baseUrl);
    receiver.answer(() => {
      const { length } = receiver.received;
      return length === 4 ? { status: 500, afterMs: 2000 } : { status: length < 4 ? 500 : 200 };
    });
    const { id } = await jobs.create({ ...HASH, callbackUrl: receiver.url });
    await receiver.until(4);
    const sent = await jobs.request(`/${id}/callbacks/resend`, { method: 'POST' });
    t.deepEqual(await sent.json(), { queued: 1 });
    await until('it is delivered', async () => (await jobs.get(id)).callback?.state === 'delivered');
    t.like((await jobs.get(id)).callback, { attempts: 5, statusCode: 200 });
  }));
