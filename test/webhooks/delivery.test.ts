import { randomUUID } from 'node:crypto';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { EVENTS } from '../../schemas/events.ts';
import { auditAccount } from '../../store/ledger/audit.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { newDelivery, newEvent } from '../../store/webhooks/events.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { newOwner } from '../helpers/dashboard.ts';
import { type Json, recordAt, recordsAt } from '../helpers/json.ts';
import { linksOf, mainText, pageOf } from '../helpers/markup.ts';
import { RETRY_MS, useStack } from '../helpers/profiles.ts';
import { type Delivery, type Receiver, startReceiver } from '../helpers/receiver.ts';
import type { SharedStack } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { LANGUAGES, verdicts } from '../helpers/verifiers.ts';

/** Delays between attempts in milliseconds; with three delays a delivery has four attempts. */
const PATH = '/api/v1/account/webhooks';

let stack: SharedStack;
let store: Store;

test.before(async (t) => {
  t.timeout(180_000);
  stack = await useStack();
  store = await openStore(stack.mongodbUri);
});
test.after('independent code in three languages verifies every delivery of these tests', async (t) => {
  const claims = signed.flatMap(({ delivery: { body, headers }, secrets }) =>
    secrets.map((secret) => ({
      secret,
      body,
      timestamp: String(headers['x-service-timestamp']),
      signature: String(headers['x-service-signature']),
    })),
  );
  t.true(signed.length > 50);
  for (const language of LANGUAGES) {
    const answers = await verdicts(language, () => claims);
    const genuine = claims.filter((_, index) => answers[index]);
    const bodies = new Set(genuine.map(({ body, signature }) => `${body}${signature}`));
    for (const { delivery } of signed)
      t.true(bodies.has(`${delivery.body}${delivery.headers['x-service-signature']}`), language);
  }
});
test.after.always(async () => {
  await store?.close();
  await stack?.stop();
});

/** All deliveries of the following tests, each with the secrets with which it may be signed. */
const signed: { delivery: Delivery; secrets: string[] }[] = [];

interface Scene {
  account: TestAccount;
  receiver: Receiver;
  id: string;
  secret: string;
  /** The endpoint's current and former secrets; tests add new ones. */
  secrets: string[];
}

const json = async (response: Response): Promise<Json> => recordAt({ it: await response.json() }, 'it');

async function scene(t: { teardown(end: () => void): void }, events?: string[]): Promise<Scene> {
  const account = await makeAccount(stack, 1000);
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const response = await account.manage(PATH, { url: receiver.url, ...(events && { events }) });
  const { id, secret } = await json(response);
  const secrets = [String(secret)];
  receiver.watch((delivery) => signed.push({ delivery, secrets }));
  return { account, receiver, id: String(id), secret: String(secret), secrets };
}

/** Causes an event by a request to the API. */
const fire = ({ account }: Scene) =>
  account.manage('/api/v1/account/keys', { name: 'x', scopes: ['tools'] }).then(json);

const endpoint = async ({ account, id }: Scene) => json(await account.manage(`${PATH}/${id}`));
const attempts = async ({ account, id }: Scene) =>
  recordsAt((await json(await account.manage(`${PATH}/${id}/attempts?limit=100`))).items);
const events = async ({ account }: Scene) =>
  recordsAt((await json(await account.manage('/api/v1/account/events?limit=100'))).items);
const deliveries = async (scene: Scene) =>
  (await events(scene)).flatMap((event) => recordsAt(event.deliveries));

const states = (scene: Scene, ...wanted: string[]) =>
  until(`deliveries are ${wanted}`, async () => {
    const found = (await deliveries(scene)).map(({ state }) => String(state)).sort();
    return JSON.stringify(found) === JSON.stringify(wanted.toSorted());
  });

const post = (scene: Scene, action: string, body: Json = {}) =>
  scene.account.manage(`${PATH}/${scene.id}/${action}`, body);

/** Verifies a delivery with the reference library of Standard Webhooks, from its body and headers alone. */
function verify({ body, headers }: Delivery, secret: string): unknown {
  return new Webhook(secret).verify(body, {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  });
}

test('a call that takes the balance below 25 causes an event, and its response does not wait for the delivery', async (t) => {
  const account = await makeAccount(stack, 25);
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  receiver.answer(() => null); // the receiver never responds
  await account.manage(PATH, { url: receiver.url });
  t.is((await account.call('hash-text', { text: 'a' })).status, 200);
  const [delivery] = await receiver.until(1);
  t.like(delivery, { event: 'credits.low', path: '/hook' });
  const { id, ...envelope } = JSON.parse(delivery?.body ?? '');
  t.regex(id, /^evt_/);
  t.regex(envelope.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
  t.deepEqual(Object.keys(envelope), ['event', 'createdAt', 'data']);
  t.deepEqual(envelope.data, { balance: 24, threshold: 25, message: 'Only 24 credits are left.' });
});

test('a delivery has the documented headers and signatures, and appears in the delivery list', async (t) => {
  const it = await scene(t);
  it.receiver.answer(() => ({ status: 202, body: 'thank you' }));
  const key = await fire(it);
  const [delivery] = await it.receiver.until(1);
  if (delivery === undefined) return t.fail();
  const { headers, body } = delivery;
  t.like(headers, { 'content-type': 'application/json', 'x-service-event': 'api_key.created' });
  t.is(headers['x-service-timestamp'], headers['webhook-timestamp']);
  t.true(Math.abs(Number(headers['x-service-timestamp']) - Date.now() / 1000) < 60);
  t.is(headers['webhook-id'], delivery.id);
  t.like(verify(delivery, it.secret), { id: delivery.id, event: 'api_key.created' });
  t.throws(() => verify({ ...delivery, body: `${body} ` }, it.secret));
  t.deepEqual(JSON.parse(body).data, { keyId: key.id, name: 'x', prefix: key.prefix });

  await states(it, 'delivered');
  t.like((await deliveries(it))[0], { endpointId: it.id, attempts: 1, nextAt: null });
  const [row] = await attempts(it);
  t.like(row, {
    eventId: delivery.id,
    event: 'api_key.created',
    attempt: 1,
    statusCode: 202,
    error: null,
    responseBody: 'thank you',
  });
});

test('a failed delivery is retried on schedule with the same bytes, then marked failed, and can be sent again', async (t) => {
  const it = await scene(t);
  it.receiver.answer(() => ({ status: 500 }));
  await fire(it);
  const received = await it.receiver.until(RETRY_MS.length + 1);
  await states(it, 'failed');
  t.is(new Set(received.map(({ body }) => body)).size, 1);
  t.is(new Set(received.map(({ headers }) => headers['webhook-id'])).size, 1);
  for (const delivery of received) verify(delivery, it.secret);
  for (const [index, wait] of RETRY_MS.entries())
    t.true((received[index + 1]?.at ?? 0) - (received[index]?.at ?? 0) >= wait);
  t.deepEqual(
    (await attempts(it)).map(({ attempt, statusCode }) => [attempt, statusCode]),
    [4, 3, 2, 1].map((attempt) => [attempt, 500]),
  );
  t.is((await endpoint(it)).consecutiveFailures, 4);

  it.receiver.answer(() => ({}));
  const since = new Date(Date.now() - 60_000).toISOString();
  t.deepEqual(await json(await post(it, 'resend', { since })), { queued: 1 });
  await states(it, 'delivered');
  t.is((await attempts(it))[0]?.attempt, 5);
  t.is((await endpoint(it)).consecutiveFailures, 0);
  t.deepEqual(await json(await post(it, 'resend', { since })), { queued: 0 });
});

test('an endpoint receives only the events that it subscribed to', async (t) => {
  const it = await scene(t, ['api_key.revoked']);
  const { id } = await fire(it);
  await it.account.manage(`/api/v1/account/keys/${id}`, undefined, { method: 'DELETE' });
  await states(it, 'delivered');
  t.deepEqual(
    it.receiver.received.map(({ event }) => event),
    ['api_key.revoked'],
  );
});

test('Retry-After is respected up to twice the scheduled delay', async (t) => {
  const it = await scene(t);
  it.receiver.answer(() => ({ status: 429, headers: { 'Retry-After': '3600' } }));
  await fire(it);
  const [first, second] = await it.receiver.until(2);
  t.true((second?.at ?? 0) - (first?.at ?? 0) >= 2 * (RETRY_MS[0] ?? 0));
});

test('a redirect is a failure and is not followed; 16 KiB of the response are stored', async (t) => {
  const it = await scene(t);
  it.receiver.answer(() => ({ status: 302, headers: { Location: '/other' }, body: 'x'.repeat(20_000) }));
  const row = await json(await post(it, 'test'));
  t.like(row, { event: 'webhook.test', attempt: 1, statusCode: 302, error: null });
  t.is(String(row.responseBody).length, 16 * 1024);
  t.deepEqual(
    it.receiver.received.map(({ path }) => path),
    ['/hook'],
  );
  t.is((await endpoint(it)).consecutiveFailures, 1);
});

test('no response within 10 seconds is a failure, and so is a refused connection', async (t) => {
  const it = await scene(t);
  it.receiver.answer(() => null);
  const row = await json(await post(it, 'test'));
  t.like(row, { statusCode: null, responseBody: null });
  t.regex(String(row.error), /^target_timeout/);
  t.true(Number(row.durationMs) >= 9_900);
  it.receiver.close();
  t.regex(String((await json(await post(it, 'test'))).error), /^target_failed/);
});

test('the 20th consecutive failure disables the endpoint and holds later events; enabling it restarts the count', async (t) => {
  const it = await scene(t);
  it.receiver.answer(() => ({ status: 500 }));
  for (let failure = 1; failure <= 20; failure++) {
    t.is((await post(it, 'test')).status, 200);
    t.like(await endpoint(it), {
      consecutiveFailures: failure,
      state: failure < 20 ? 'active' : 'disabled',
    });
  }
  t.is(typeof (await endpoint(it)).disabledAt, 'string');
  for (const [action, body] of [
    ['test', {}],
    ['resend', { since: '2026-01-01T00:00:00Z' }],
  ] as const) {
    const refused = await post(it, action, body);
    t.is(refused.status, 409);
    t.is((await json(refused)).code, 'endpoint_disabled');
  }
  await fire(it);
  await until('a delivery is held', async () => (await deliveries(it)).some(({ state }) => state === 'held'));
  t.is(it.receiver.received.length, 20);

  it.receiver.answer(() => ({}));
  t.like(await json(await post(it, 'enable')), { state: 'active', consecutiveFailures: 0, disabledAt: null });
  t.true(
    (await deliveries(it)).some(({ state }) => state === 'held'),
    'held until it is resent',
  );
  const [held] = (await deliveries(it)).filter(({ state }) => state === 'held');
  t.deepEqual(await json(await post(it, 'resend', { deliveryIds: [held?.id] })), { queued: 1 });
  await it.receiver.until(21);
  await until('no delivery is held', async () =>
    (await deliveries(it)).every(({ state }) => state !== 'held'),
  );
});

test('a failing endpoint gets one attempt at a time, and its pending deliveries follow when it recovers', async (t) => {
  const it = await scene(t);
  let broken = true;
  it.receiver.answer(() => ({ status: broken ? 503 : 200, afterMs: 50 }));
  for (let event = 0; event < 12; event++) await fire(it);
  await until('the request fails', async () => Number((await endpoint(it)).consecutiveFailures) > 0);
  t.true(it.receiver.mostAtOnce() <= 5);
  broken = false;
  await states(it, ...Array.from({ length: 12 }, () => 'delivered'));
  t.is((await endpoint(it)).state, 'active');
});

test('during a secret rotation deliveries verify with both secrets, and afterwards only with the new one', async (t) => {
  const it = await scene(t);
  const { secret } = await json(await post(it, 'rotate-secret'));
  it.secrets.push(String(secret));
  t.is((await json(await post(it, 'rotate-secret'))).code, 'rotation_pending');
  await post(it, 'test');
  const [during] = it.receiver.received;
  if (during === undefined) return t.fail();
  verify(during, it.secret);
  verify(during, String(secret));
  t.is((await post(it, 'activate-secret')).status, 200);
  await post(it, 'test');
  const after = it.receiver.received[1];
  if (after === undefined) return t.fail();
  verify(after, String(secret));
  t.throws(() => verify(after, it.secret));
  const forced = await json(await post(it, 'rotate-secret'));
  const again = await json(await post(it, 'rotate-secret', { force: true }));
  t.not(again.secret, forced.secret);
});

test('during a rotation under load, a receiver that accepts both secrets rejects no delivery', async (t) => {
  const it = await scene(t);
  let trusted = it.secrets;
  const refused: string[] = [];
  it.receiver.watch((delivery) => {
    const verifies = (secret: string): boolean => {
      try {
        verify(delivery, secret);
        return true;
      } catch {
        return false;
      }
    };
    if (!trusted.some(verifies)) refused.push(delivery.id);
  });
  const load = async (count: number) => {
    const before = it.receiver.received.length;
    for (let event = 0; event < count; event++) await fire(it);
    await it.receiver.until(before + count);
  };
  await load(5);
  const secret = String((await json(await post(it, 'rotate-secret'))).secret);
  it.secrets.push(secret);
  const during = load(10);
  await post(it, 'test');
  await post(it, 'activate-secret');
  await during;
  trusted = [secret];
  await load(5);
  t.deepEqual(refused, []);
  t.is((await endpoint(it)).consecutiveFailures, 0);
});

test('an endpoint that never responds does not delay the others', async (t) => {
  const it = await scene(t);
  it.receiver.answer(() => null);
  const other = await startReceiver();
  t.teardown(() => other.close());
  await it.account.manage(PATH, { url: other.url });
  for (let event = 0; event < 8; event++) await fire(it);
  await it.receiver.until(1);
  await other.until(8);
  t.deepEqual(
    await attempts(it),
    [],
    'the other endpoint received everything before the first attempt here ended',
  );
});

test('pending deliveries of a deleted endpoint are marked failed', async (t) => {
  const it = await scene(t);
  it.receiver.answer(() => ({ status: 500 }));
  await fire(it);
  await it.receiver.until(1);
  t.is((await it.account.manage(`${PATH}/${it.id}`, undefined, { method: 'DELETE' })).status, 204);
  await states(it, 'failed');
  t.is((await it.account.manage(`${PATH}/${it.id}`)).status, 404);
  t.is((await post(it, 'test')).status, 404);
});

test('an attempt lists the headers of the request and of the response, and no secret', async (t) => {
  const it = await scene(t);
  it.receiver.answer(() => ({
    status: 503,
    headers: { 'X-Trace': 'abc', 'Set-Cookie': 'session=word-to-drop' },
    body: 'try later',
  }));
  const row = await json(await post(it, 'test'));
  const [received] = it.receiver.received;
  if (received === undefined) return t.fail();
  t.is(row.url, it.receiver.url);
  const request = recordsAt(row.requestHeaders).map(({ name, value }) => ({
    name: String(name).toLowerCase(),
    value: String(value),
  }));
  for (const { name, value } of request) t.is(received.headers[name], value, name);
  for (const name of ['x-service-signature', 'webhook-signature', 'x-service-timestamp', 'webhook-id'])
    t.true(
      request.some((sent) => sent.name === name),
      name,
    );
  const response = recordsAt(row.responseHeaders).map(({ name, value }) => `${name}: ${value}`);
  t.true(response.includes('X-Trace: abc'));
  const kept = JSON.stringify([row, await store.attemptContents.findOne({ _id: String(row.id) })]);
  t.false(kept.includes('word-to-drop'));
  t.false(kept.includes(it.secret.slice(6, 30)));
});

test('a test can have any kind of event; it is marked, sent once, and changes nothing', async (t) => {
  const it = await scene(t, ['api_key.created']);
  const before = await json(await it.account.manage('/api/v1/account'));
  it.receiver.answer(() => ({ status: 500 }));
  const row = await json(await post(it, 'test', { event: 'credits.granted' }));
  t.like(row, { event: 'credits.granted', attempt: 1, statusCode: 500 });
  const [received] = it.receiver.received;
  if (received === undefined) return t.fail();
  verify(received, it.secret);
  t.is(received.event, 'credits.granted');
  t.regex(received.id, /^evt_test_/);
  t.deepEqual(JSON.parse(received.body).data, EVENTS['credits.granted'].example);
  const listed = (await events(it)).filter(({ test: isTest }) => isTest);
  t.deepEqual(
    listed.map(({ event }) => event),
    ['credits.granted'],
  );
  await states(it, 'failed');
  const { queued } = await json(await post(it, 'resend', { deliveryIds: [row.deliveryId] }));
  t.is(queued, 0);
  t.is(it.receiver.received.length, 1);
  t.deepEqual(await json(await it.account.manage('/api/v1/account')), before);
  t.deepEqual((await auditAccount(store, it.account.accountId))?.drift, []);
  t.is((await post(it, 'test', { event: 'credits.gone' })).status, 422);
});

test('the page of a delivery shows each request and response, and resends a delivery that succeeded', async (t) => {
  const owner = await newOwner(stack);
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  receiver.answer(() => ({ status: 202, headers: { 'X-Trace': '<abc>' }, body: '<b>thanks</b>' }));
  const id = randomUUID();
  await owner.post('/webhooks', { url: receiver.url, events: 'api_key.created', reference: id });
  await owner.post('/keys', { name: 'website', scope: 'tools' });
  const [received] = await receiver.until(1);
  if (received === undefined) return t.fail();
  const show = async (path: string) => {
    const response = await owner.get(path);
    t.is(response.status, 200, path);
    const elements = await pageOf(t, response);
    return { words: mainText(elements), links: linksOf(elements) };
  };
  const list = await until('the attempt is listed', async () => {
    const page = await show(`/webhooks/whe_${id}`);
    return page.links.some((href) => href.includes('/deliveries/')) ? page : null;
  });
  const path = (list.links.find((href) => href.includes('/deliveries/')) ?? '').replace(
    /^\/dashboard|#.*$/g,
    '',
  );
  const words = await until('the delivery has ended', async () => {
    const page = await show(path);
    return page.words.includes('The endpoint received the event.') ? page.words : null;
  });
  t.true(words.includes(received.body));
  for (const name of ['x-service-signature', 'webhook-signature'])
    t.true(words.includes(String(received.headers[name])), name);
  t.regex(words, /HTTP status 202.*X-Trace: <abc>.*<b>thanks<\/b>/s);

  const resent = await owner.post(`${path}/resend`);
  t.is(resent.headers.get('location'), `/dashboard${path}?resent=1`);
  const [, again] = await receiver.until(2);
  t.is(again?.body, received.body);
  await until('the page shows both attempts', async () => / Attempts 2 /.test((await show(path)).words));

  const stranger = await newOwner(stack);
  t.is((await stranger.get(path)).status, 404);
  t.is((await stranger.post(`${path}/resend`)).status, 404);
  t.is((await owner.get(`/webhooks/whe_${id}/deliveries/dlv_unknown`)).status, 404);

  const tested = await owner.post(`/webhooks/whe_${id}/test`, { event: 'credits.low' });
  const target = (tested.headers.get('location') ?? '').replace('/dashboard', '');
  const after = await show(target);
  t.regex(after.words, /The test was delivered\. Your server answered 202/);
  t.regex(after.words, /credits\.low test/);
  const [latest = ''] = after.links.filter((href) => href.includes('/deliveries/'));
  t.regex((await show(latest.replace('/dashboard', ''))).words, /The data is an example.*Send another test/s);
  t.is((await owner.post(`/webhooks/whe_${id}/test`, { event: 'made.up' })).status, 422);
});

test('a delivery that waits for its next attempt is resent at once in the dashboard', async (t) => {
  const owner = await newOwner(stack);
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const reference = randomUUID();
  await owner.post('/webhooks', { url: receiver.url, events: 'credits.low', reference });
  const id = `whe_${reference}`;
  const endpoint = await store.webhookEndpoints.findOne({ _id: id });
  const { pending: _dispatched, ...event } = newEvent(
    endpoint?.accountId ?? '',
    'credits.low',
    EVENTS['credits.low'].example,
  );
  const tomorrow = new Date(Date.now() + 86_400_000);
  const delivery = { ...newDelivery(event, id, false), attempts: 2, tries: 2, nextAt: tomorrow };
  await store.events.insertOne(event);
  await store.deliveries.insertOne(delivery);
  await store.webhookEndpoints.updateOne({ _id: id }, { $set: { failures: 2, notBefore: tomorrow } });
  const path = `/webhooks/${id}/deliveries/${delivery._id}`;
  const words = async (page: string) => mainText(await pageOf(t, await owner.get(page)));
  t.regex(await words('/events'), /pending 2 attempts, next .* Resend credits\.low/);
  t.regex(await words(path), /The next attempt is scheduled.*Next attempt .* Resend/s);
  const resent = await owner.post(`${path}/resend`);
  t.is(resent.headers.get('location'), `/dashboard${path}?resent=1`);
  await receiver.until(1);
  await until('the delivery has ended', async () =>
    /The endpoint received the event\..*Attempts 3 /s.test(await words(path)),
  );
  t.regex(await words(`/webhooks/${id}`), /Consecutive failures 0/);
});

test('the secret of an endpoint is stored only in encrypted form', async (t) => {
  const it = await scene(t);
  const row = await store.webhookEndpoints.findOne({ _id: it.id });
  t.false(JSON.stringify(row).includes(it.secret.slice(6, 30)));
});
