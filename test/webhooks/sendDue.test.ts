import { randomUUID } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import test, { type ExecutionContext } from 'ava';
import type { AttemptDelivery } from '../../activities/webhooks/attemptDelivery.ts';
import { createSendDue } from '../../activities/webhooks/sendDue.ts';
import { createKeyring } from '../../platform/secrets/keyring.ts';
import { parseMasterKeys } from '../../schemas/envValues.ts';
import { EVENTS } from '../../schemas/events.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { resend } from '../../store/webhooks/deliveries.ts';
import { attemptId, createDeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import { syncEndpoint } from '../../store/webhooks/endpointState.ts';
import { createDeliveries, newEvent } from '../../store/webhooks/events.ts';
import { createWebhookEndpoints } from '../../store/webhooks/webhookEndpoints.ts';
import type { AttemptedDelivery } from '../../workflows/webhookEndpoint.ts';
import { until } from '../helpers/until.ts';
import { openDatabases } from '../store/ledgerFixtures.ts';

const KEYRING = createKeyring(parseMasterKeys('test:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='));
const AT_ONCE = 5;

interface Post {
  url: string;
  secret: string;
  deliveryId: string;
  attempt: number;
  end(ok: boolean): void;
}

/** An endpoint, and senders whose attempts wait until the test decides their outcome. Each sender belongs to a worker of its own. */
async function makeScene(t: ExecutionContext) {
  const open = new AsyncDisposableStack();
  t.teardown(() => open.disposeAsync());
  const [first] = open.use(await openDatabases(1)).stores;
  if (first === undefined) throw new Error('no database');
  const store: Store = first;
  const { _id: accountId } = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: 0,
  });
  const endpoints = createWebhookEndpoints(store, KEYRING);
  const { row } = await endpoints.create({ accountId, url: 'https://example.com/hook', events: null });
  const endpointId = row._id;
  const attempts = createDeliveryAttempts(store);
  const woken: string[] = [];

  async function fire(count: number): Promise<void> {
    const events = Array.from({ length: count }, () =>
      newEvent(accountId, 'api_key.created', EVENTS['api_key.created'].example),
    );
    await store.events.insertMany(events);
    await createDeliveries(store, accountId, {
      wake: async (id) => void woken.push(id),
      localhost: true,
    });
  }

  function startSender(): { posts: Post[]; ended: ReturnType<ReturnType<typeof createSendDue>> } {
    const posts: Post[] = [];
    const attemptDelivery: AttemptDelivery = async (endpoint, delivery, event, attempt) => {
      const at = new Date();
      const ok = await new Promise<boolean>((end) => {
        const { url, secret } = endpoint;
        posts.push({ url, secret, deliveryId: delivery._id, attempt, end });
      });
      const { _id: deliveryId, eventId } = delivery;
      const ids = { _id: attemptId(deliveryId, attempt), accountId, endpointId, eventId };
      const outcome = { statusCode: ok ? 200 : 500, error: null, durationMs: 1, retryAfterMs: null };
      await attempts.record({ ...ids, event: event.event, attempt, at, ...outcome }, { body: '' });
      return { ok, retryAfterMs: null };
    };
    const stopping = new AbortController().signal;
    const sendDue = createSendDue({ store, attempts, attemptDelivery, stopping });
    const task = { endpointId, epoch: 0, atOnce: AT_ONCE, first: [], except: [] };
    return { posts, ended: new MockActivityEnvironment().run(sendDue, task) };
  }

  const count = (state: 'pending' | 'delivered' | 'held') =>
    store.deliveries.countDocuments({ endpointId, state });
  return { store, endpoints, accountId, endpointId, woken, fire, startSender, count };
}

const failed = (ended: readonly AttemptedDelivery[]) => ended.filter(({ ok }) => !ok);

const sync = (store: Store, endpointId: string) =>
  syncEndpoint(store, {
    endpointId,
    now: Date.now(),
    turn: 0,
    health: null,
    outcomes: [],
    running: [],
    take: AT_ONCE,
  });

test('after the kill of a worker, only the attempts that were running are repeated, and its leftovers take no more', async (t) => {
  const { fire, startSender, count, store } = await makeScene(t);
  await fire(12);
  const killed = startSender();
  await until('five attempts are running', async () => killed.posts.length === AT_ONCE);
  for (const { end } of killed.posts.slice(0, 3)) end(true);
  await until('three more are running', async () => killed.posts.length === AT_ONCE + 3);
  const unfinished = killed.posts.slice(3).map(({ deliveryId }) => deliveryId);

  const next = startSender();
  await until('the attempts that were running are repeated', async () => next.posts.length === AT_ONCE);
  t.deepEqual(next.posts.map(({ deliveryId }) => deliveryId).sort(), unfinished.sort());
  t.deepEqual(new Set(next.posts.map(({ attempt }) => attempt)), new Set([1]));
  // The first worker was only slow: its attempts end, and it must not attempt what is due beside the other.
  for (const { end } of killed.posts.slice(3)) end(true);
  t.deepEqual(failed(await killed.ended), []);
  t.is(killed.posts.length, AT_ONCE + 3);
  await until('all are delivered', async () => {
    for (const { end } of next.posts) end(true);
    return (await count('pending')) === 0;
  });
  t.deepEqual(await next.ended, []);
  t.is(await count('delivered'), 12);
  t.is(await store.deliveryAttempts.countDocuments(), 12, 'each has one attempt, whoever made it');
});

test('many due deliveries are read together, and at most five are attempted at a time', async (t) => {
  const { store, fire, startSender, count } = await makeScene(t);
  await fire(60);
  await store.db.command({ profile: 2 });
  const { posts, ended } = startSender();
  for (let index = 0; index < 60; index++) {
    await until('the next attempt is running', async () => posts.length > index);
    t.true(posts.length - index <= AT_ONCE);
    posts[index]?.end(true);
  }
  t.deepEqual(await ended, []);
  t.is(await count('delivered'), 60);
  t.is(new Set(posts.map(({ deliveryId }) => deliveryId)).size, 60);
  await store.db.command({ profile: 0 });
  const looks = { op: 'query', ns: store.deliveries.namespace, nreturned: { $gt: 2 * AT_ONCE } };
  t.not(await store.db.collection('system.profile').countDocuments(looks), 0);
});

test('an attempt that was recorded before the kill is not repeated, and a failure is still reported', async (t) => {
  const { fire, startSender, store, count } = await makeScene(t);
  await fire(2);
  const killed = startSender();
  await until('both attempts are running', async () => killed.posts.length === 2);
  for (const [index, { end }] of killed.posts.entries()) end(index === 0);
  const failures = failed(await killed.ended);
  t.like(failures, [{ attempts: 0, tries: 0 }]);
  // As if the worker had been killed before it wrote that the first one was delivered.
  await store.deliveries.updateMany(
    {},
    { $set: { state: 'pending', attempts: 0, tries: 0, nextAt: new Date(0) } },
  );
  const next = startSender();
  t.deepEqual(failed(await next.ended), failures);
  t.deepEqual(next.posts, []);
  t.is(await count('delivered'), 1);
});

test('each attempt uses the secret and URL of its time, and a disabled endpoint gets no further one', async (t) => {
  const { fire, startSender, store, endpoints, accountId, endpointId, count } = await makeScene(t);
  await fire(1);
  const { posts, ended } = startSender();
  await until('an attempt is running', async () => posts.length === 1);
  await endpoints.rotateSecret(accountId, endpointId, false);
  const { secret } = await endpoints.activateSecret(accountId, endpointId);
  await endpoints.change(accountId, endpointId, { url: 'https://example.com/other' });
  await fire(1);
  await until('the second attempt is running', async () => posts.length === 2);
  t.not(posts[0]?.secret, secret);
  t.like(posts[1], { secret, url: 'https://example.com/other' });

  await store.webhookEndpoints.updateOne({ _id: endpointId }, { $set: { state: 'disabled' } });
  await sync(store, endpointId);
  t.is(await count('held'), 0, 'those that are being attempted are not held');
  await store.webhookEndpoints.updateOne({ _id: endpointId }, { $set: { state: 'active', failures: 1 } });
  await fire(3);
  for (const { end } of posts) end(true);
  t.deepEqual(failed(await ended), []);
  t.is(posts.length, 2);
  t.is(await count('delivered'), 2);
  t.is(await count('pending'), 3);
});

test('while a sender runs, new deliveries wake no workflow, and what it attempts is not resent', async (t) => {
  const { fire, startSender, store, endpointId, woken } = await makeScene(t);
  await fire(1);
  t.deepEqual(woken, [endpointId]);
  const { posts, ended } = startSender();
  await until('an attempt is running', async () => posts.length === 1);
  await fire(1);
  await until('the second attempt is running', async () => posts.length === 2);
  t.is(woken.length, 1);
  const deliveryIds = posts.map(({ deliveryId }) => deliveryId);
  t.is(await resend(store, endpointId, { deliveryIds }), 0);
  posts[0]?.end(true);
  await until(
    'the first is delivered',
    async () => (await store.deliveries.countDocuments({ state: 'delivered' })) === 1,
  );
  t.is(await resend(store, endpointId, { deliveryIds }), 1, 'the first can be resent');
  await until('it is attempted again', async () => posts.length === 3);
  t.like(posts[2], { deliveryId: deliveryIds[0], attempt: 2 });
  posts[1]?.end(false);
  posts[2]?.end(true);
  t.like(failed(await ended), [{ deliveryId: deliveryIds[1] }]);
  await fire(1);
  t.is(woken.length, 2);
  t.is(
    (await sync(store, endpointId))?.due.length,
    2,
    'the failed one and the new one are left to the workflow',
  );
});
