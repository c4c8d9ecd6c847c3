import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import test from 'ava';
import { createEndpointNotifier } from '../../activities/webhooks/dispatchActivities.ts';
import { createEndpointActivities } from '../../activities/webhooks/endpointActivities.ts';
import { createSendDue } from '../../activities/webhooks/sendDue.ts';
import { createEndpointWorkflow, type EndpointWorkflow } from '../../api/webhooks/endpointWorkflow.ts';
import { connectClient, dataConverter } from '../../platform/temporal/temporal.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { EVENTS } from '../../schemas/events.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { ensureIndexes } from '../../store/mongo/indexes.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { createDeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import type { SyncRequest } from '../../store/webhooks/endpointState.ts';
import { createDeliveries, newEvent } from '../../store/webhooks/events.ts';
import type { WebhookEndpointDoc } from '../../store/webhooks/webhookDocs.ts';
import { createWebhookEndpoints, type WebhookEndpoints } from '../../store/webhooks/webhookEndpoints.ts';
import { loadWorkflowBundle } from '../../workers/bundle.ts';
import type { DeliveryResult, DeliveryTask } from '../../workflows/webhookEndpoint.ts';
import { type Random, seededRandom } from '../helpers/random.ts';
import { startDatabase, startNamespace } from '../helpers/stack.ts';
import { until } from '../helpers/until.ts';
import { KEYRING, record } from './workflowHarness.ts';

const LIMIT = 20;
/** Number of failures at the start: six actions can take it to the limit and beyond. */
const BEFORE = 18;
const STORIES = Number(process.env.TEST_STORIES ?? 24);

/** A delivery attempt that waits until the test decides its outcome. */
interface Post extends DeliveryTask {
  end(ok: boolean): void;
}

let store: Store;
let client: Client;
let endpoints: WebhookEndpoints;
let workflow: EndpointWorkflow;
const posts: Post[] = [];
/** Outcomes of test deliveries, by endpoint. Test deliveries do not wait for the test. */
const tests = new Map<string, boolean>();
/** Endpoints whose failed deliveries are retried after an hour. The others retry without a wait. */
const slow = new Set<string>();
/** Number of attempts to each endpoint whose receiver rejects every other one, and how many it accepted. */
const flaky = new Map<string, { attempts: number; accepted: number }>();
const open = new AsyncDisposableStack();

/** Makes an attempt. @returns whether the receiver accepted it */
async function attempt(order: DeliveryTask): Promise<boolean> {
  const counts = flaky.get(order.endpointId);
  if (counts !== undefined) {
    const ok = ++counts.attempts % 2 === 0;
    counts.accepted += Number(ok);
    return ok;
  }
  const delivery = await store.deliveries.findOne({ _id: order.deliveryId });
  if (delivery?.event === 'webhook.test') return tests.get(order.endpointId) ?? true;
  const ended = new Promise<boolean>((resolve) => {
    posts.push({ ...order, end: resolve });
  });
  const { cancelled, heartbeat } = Context.current();
  const beat = setInterval(() => heartbeat(), 1000);
  try {
    // After a cancellation the attempt ends too, so that the worker can stop.
    return await Promise.race([ended, cancelled]);
  } finally {
    clearInterval(beat);
  }
}

const deliver = async (order: DeliveryTask): Promise<DeliveryResult> => ({
  kind: 'posted',
  ok: await attempt(order),
  attemptId: `att_${order.attempt}`,
  retryAfterMs: null,
});

test.before(async (t) => {
  t.timeout(180_000);
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const database = open.adopt(await startDatabase(), (it) => it.stop());
  const { temporalAddress, namespace } = open.adopt(await startNamespace(), (it) => it.stop());
  store = open.adopt(await openStore(database.mongodbUri), (it) => it.close());
  await ensureIndexes(store);
  client = await connectClient({ TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: namespace }, KEYRING);
  open.defer(() => client.connection.close());
  endpoints = createWebhookEndpoints(store, KEYRING);
  workflow = createEndpointWorkflow(client);
  const connection = open.adopt(await NativeConnection.connect({ address: temporalAddress }), (it) =>
    it.close(),
  );
  const common = {
    connection,
    namespace,
    dataConverter: dataConverter(KEYRING),
    shutdownGraceTime: '1s' as const,
  };
  const activitiesFor = (waitMs: number) => createEndpointActivities(store, Array(30).fill(waitMs));
  const [immediate, hourly] = [activitiesFor(0), activitiesFor(3_600_000)];
  const sendDue = createSendDue({
    store,
    attempts: createDeliveryAttempts(store),
    attemptDelivery: async ({ _id: endpointId }, { _id: deliveryId }, _event, number) => ({
      ok: await attempt({ endpointId, deliveryId, attempt: number }),
      retryAfterMs: null,
    }),
    stopping: new AbortController().signal,
  });
  const workers = [
    await Worker.create({
      ...common,
      taskQueue: 'orchestrator',
      workflowBundle: await loadWorkflowBundle((error) => t.log(error)),
      activities: {
        ...immediate,
        syncEndpoint: (request: SyncRequest) =>
          (slow.has(request.endpointId) ? hourly : immediate).syncEndpoint(request),
      },
    }),
    await Worker.create({ ...common, taskQueue: 'delivery', activities: { deliver, sendDue } }),
  ];
  for (const worker of workers) {
    const running = worker.run();
    open.defer(async () => {
      worker.shutdown();
      await running;
    });
  }
});
test.after.always(() => open.disposeAsync());

/** Creates an endpoint that has had this many consecutive failures. */
async function makeEndpoint(failures: number) {
  const email = `${randomUUID()}@example.com`;
  const { _id: accountId } = await createAccounts(store).create({ email, credits: 0 });
  const url = 'http://localhost:9/hook';
  const { row } = await endpoints.create({ accountId, url, events: null });
  await store.webhookEndpoints.updateOne({ _id: row._id }, { $set: { failures } });
  return { accountId, id: row._id };
}
type Endpoint = Awaited<ReturnType<typeof makeEndpoint>>;

async function fire({ accountId }: Endpoint): Promise<void> {
  await store.events.insertOne(newEvent(accountId, 'api_key.created', EVENTS['api_key.created'].example));
  await createDeliveries(store, accountId, createEndpointNotifier(client, true));
}

/** Saves the history of the endpoint's workflow for the replay test when the workflow is idle. */
async function saveHistory(name: string, endpoint: Endpoint): Promise<void> {
  const callId = `webhook-${endpoint.id}`;
  const handle = client.workflow.getHandle(callId);
  await until('the workflow is idle', async () => {
    for (const post of postsOf(endpoint)) end(post, true);
    const { events } = await handle.fetchHistory();
    return events?.at(-1)?.timerStartedEventAttributes != null;
  });
  await record(name, { callId, handle });
}

const rowOf = ({ id }: Endpoint): Promise<WebhookEndpointDoc | null> =>
  store.webhookEndpoints.findOne({ _id: id });
const postsOf = ({ id }: Endpoint): Post[] => posts.filter(({ endpointId }) => endpointId === id);
function end(post: Post, ok: boolean): void {
  posts.splice(posts.indexOf(post), 1);
  post.end(ok);
}

const ACTIONS = [
  'fails',
  'succeeds',
  'test fails',
  'test succeeds',
  'disable',
  'enable',
  'rotate',
  'delete',
] as const;
type Action = (typeof ACTIONS)[number];

/** The state that the contract demands after each action. */
interface Story {
  failures: number;
  state: 'active' | 'disabled';
  disabledTimes: number;
  gone: boolean;
}

function count(story: Story, ok: boolean): void {
  if (story.state === 'disabled') return;
  story.failures = ok ? 0 : story.failures + 1;
  if (story.failures < LIMIT) return;
  story.state = 'disabled';
  story.disabledTimes += 1;
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (error: unknown) => (error instanceof ServiceError ? error.code : String(error)),
  );

async function act(
  endpoint: Endpoint,
  story: Story,
  action: Action,
  stale: Set<Post>,
): Promise<string | null> {
  const { accountId, id } = endpoint;
  const refusal = story.state === 'disabled' ? 'endpoint_disabled' : 'ok';
  switch (action) {
    case 'fails':
    case 'succeeds': {
      const ok = action === 'succeeds';
      if (postsOf(endpoint).length === 0) {
        if (story.gone || story.state === 'disabled') return null;
        await fire(endpoint);
        await until('the delivery is attempted', async () => postsOf(endpoint).length > 0);
      }
      const [post] = postsOf(endpoint);
      if (post === undefined) return 'no delivery was posted';
      if (!stale.has(post) && !story.gone) count(story, ok);
      end(post, ok);
      return null;
    }
    case 'test fails':
    case 'test succeeds': {
      const ok = action === 'test succeeds';
      tests.set(id, ok);
      const code = await codeOf(workflow.test(id, randomUUID()));
      if (refusal === 'ok') count(story, ok);
      // The workflow may not have noticed the deletion yet, and then returns the previous state.
      if (story.gone) return code === 'ok' ? 'a test was sent to a deleted endpoint' : null;
      return code === refusal ? null : `test: ${code}, not ${refusal}`;
    }
    case 'disable':
      if (story.gone) return null;
      await client.workflow.signalWithStart('webhookEndpoint', {
        workflowId: `webhook-${id}`,
        taskQueue: 'orchestrator',
        args: [id],
        signal: 'disable',
        signalArgs: [],
      });
      story.state = 'disabled';
      return null;
    case 'enable': {
      const code = await codeOf(workflow.enable(id));
      if (story.gone) return code === 'not_found' ? null : `enable: ${code}`;
      for (const post of postsOf(endpoint)) stale.add(post);
      Object.assign(story, { failures: 0, state: 'active' });
      return code === 'ok' ? null : `enable: ${code}`;
    }
    case 'rotate':
      await codeOf(endpoints.rotateSecret(accountId, id, true));
      return null;
    case 'delete':
      if (story.gone) return null;
      story.gone = true;
      await endpoints.remove(accountId, id);
      await workflow.wake(id);
      return null;
  }
}

/** Runs a random sequence of actions on the workflow of a new endpoint. @returns the deviations from the contract */
async function play(random: Random): Promise<string[]> {
  const actions = Array.from({ length: random.integer(1, 6) }, () => random.pick(ACTIONS));
  const endpoint = await makeEndpoint(BEFORE);
  const story: Story = { failures: BEFORE, state: 'active', disabledTimes: 0, gone: false };
  const stale = new Set<Post>();
  const faults: string[] = [];
  for (const [index, action] of actions.entries()) {
    const path = actions.slice(0, index + 1).join(', ');
    const fault = await act(endpoint, story, action, stale);
    if (fault !== null) faults.push(`${path}: ${fault}`);
    const wanted = story.gone ? null : { failures: story.failures, state: story.state };
    const isThere = async () => {
      const row = await rowOf(endpoint);
      const found = row && { failures: row.failures, state: row.state };
      return JSON.stringify(found) === JSON.stringify(wanted);
    };
    await until(`${path}: ${JSON.stringify(wanted)}`, isThere, 60_000).catch((error) =>
      faults.push(String(error)),
    );
  }
  const sentNotices = await store.notices.countDocuments({ endpointId: endpoint.id });
  if (!story.gone && sentNotices !== story.disabledTimes) faults.push(`${actions}: ${sentNotices} notices`);
  for (const post of postsOf(endpoint)) end(post, true);
  return faults;
}

test('random sequences of up to six actions end in the state that the contract demands', async (t) => {
  t.timeout(120_000 + STORIES * 5000);
  const random = seededRandom((line) => t.log(line));
  const AT_ONCE = 6;
  for (let story = 0; story < STORIES; story += AT_ONCE) {
    const faults = await Promise.all(Array.from({ length: AT_ONCE }, () => play(random)));
    t.deepEqual(faults.flat(), []);
  }
});

test('results of attempts that started before the endpoint was enabled do not count as failures, but their deliveries do', async (t) => {
  const endpoint = await makeEndpoint(0);
  for (let event = 0; event < 3; event++) await fire(endpoint);
  await until('three attempts are running', async () => postsOf(endpoint).length === 3);
  await workflow.enable(endpoint.id);
  const [first, second, third] = postsOf(endpoint);
  if (first === undefined || second === undefined || third === undefined) return t.fail();
  end(first, false);
  end(second, true);
  await until(
    'the second delivery succeeded',
    async () => (await store.deliveries.countDocuments({ _id: second.deliveryId, state: 'delivered' })) === 1,
  );
  t.like(await rowOf(endpoint), { failures: 0, state: 'active', epoch: 1 });
  end(third, true);
  await until('the first delivery is retried', async () =>
    postsOf(endpoint).some(({ deliveryId }) => deliveryId === first.deliveryId),
  );
  for (const post of postsOf(endpoint)) end(post, true);
  await until(
    'all are delivered',
    async () =>
      (await store.deliveries.countDocuments({ endpointId: endpoint.id, state: 'delivered' })) === 3,
  );
  await saveHistory('endpoint-late-results', endpoint);
});

test('a healthy endpoint gets five concurrent attempts; after a failure it gets one at a time', async (t) => {
  const endpoint = await makeEndpoint(0);
  for (let event = 0; event < 12; event++) await fire(endpoint);
  await until('five attempts are running', async () => postsOf(endpoint).length === 5);
  const under = postsOf(endpoint);
  for (const post of under) end(post, false);
  await until('the failures are counted', async () => (await rowOf(endpoint))?.failures === 5);
  for (let left = 12; left > 0; left--) {
    await until('another attempt is running', async () => postsOf(endpoint).length > 0);
    t.is(postsOf(endpoint).length, 1);
    const [post] = postsOf(endpoint);
    if (post !== undefined) end(post, left === 1);
    if (left > 1)
      await until('the failure is counted', async () => (await rowOf(endpoint))?.failures === 18 - left);
  }
  t.is((await rowOf(endpoint))?.state, 'active');
  await saveHistory('endpoint-failing', endpoint);
});

test('a resend attempts a waiting delivery at once, never beside another attempt, and keeps its place in the schedule', async (t) => {
  const endpoint = await makeEndpoint(0);
  slow.add(endpoint.id);
  const running = () => postsOf(endpoint).map(({ deliveryId, attempt }) => [deliveryId, attempt]);
  const resend = ({ deliveryId }: Post) => workflow.resend(endpoint.id, { deliveryIds: [deliveryId] });
  const failures = (count: number) =>
    until('the failures are counted', async () => (await rowOf(endpoint))?.failures === count);
  for (let event = 0; event < 2; event++) await fire(endpoint);
  await until('two attempts are running', async () => postsOf(endpoint).length === 2);
  const [first, second] = postsOf(endpoint);
  if (first === undefined || second === undefined) return t.fail();
  t.is(await resend(first), 0, 'the first is being attempted');
  end(first, false);
  end(second, false);
  await failures(2);
  await fire(endpoint);
  await workflow.resend(endpoint.id, { since: new Date(0).toISOString() });
  t.deepEqual(running(), [], 'the third waits for the end of the pause');

  t.is(await resend(first), 1);
  await until('the first is attempted', async () => postsOf(endpoint).length === 1);
  t.is(await resend(first), 0);
  t.is(await resend(second), 1);
  t.deepEqual(running(), [[first.deliveryId, 2]]);
  for (const post of postsOf(endpoint)) end(post, false);
  await until('the second is attempted', async () => postsOf(endpoint).length === 1);
  await failures(3);
  t.deepEqual(running(), [[second.deliveryId, 2]]);
  for (const post of postsOf(endpoint)) end(post, true);

  await until(
    'the third is attempted, because the endpoint has recovered',
    async () => postsOf(endpoint).length === 1,
  );
  t.like(await rowOf(endpoint), { failures: 0, state: 'active' });
  const row = await store.deliveries.findOne({ _id: first.deliveryId });
  t.like(row, { state: 'pending', attempts: 2, tries: 2 });
  t.true((row?.nextAt?.getTime() ?? 0) > Date.now() + 1_800_000, 'the next attempt follows the schedule');
  await saveHistory('endpoint-resent', endpoint);
});

// Runs alone, because its deliveries would delay those of the other tests.
test.serial('a long history is continued as a new run without losing or repeating a delivery', async (t) => {
  t.timeout(300_000);
  const endpoint = await makeEndpoint(0);
  const COUNT = 300;
  const counts = { attempts: 0, accepted: 0 };
  flaky.set(endpoint.id, counts);
  await store.events.insertMany(
    Array.from({ length: COUNT }, () =>
      newEvent(endpoint.accountId, 'api_key.created', EVENTS['api_key.created'].example),
    ),
  );
  await createDeliveries(store, endpoint.accountId, createEndpointNotifier(client, true));
  await until(
    'all are delivered',
    async () =>
      (await store.deliveries.countDocuments({ endpointId: endpoint.id, state: 'delivered' })) === COUNT,
    270_000,
  );
  t.is(counts.accepted, COUNT);
  const { events } = await client.workflow.getHandle(`webhook-${endpoint.id}`).fetchHistory();
  const { continuedExecutionRunId } = events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
  t.truthy(continuedExecutionRunId);
});

test('at the 20th failure the pending deliveries are held, and no more attempts are made', async (t) => {
  const endpoint = await makeEndpoint(19);
  for (let event = 0; event < 4; event++) await fire(endpoint);
  await until('one attempt is running', async () => postsOf(endpoint).length === 1);
  const [post] = postsOf(endpoint);
  if (post !== undefined) end(post, false);
  await until(
    'all are held',
    async () => (await store.deliveries.countDocuments({ endpointId: endpoint.id, state: 'held' })) === 4,
  );
  t.like(await rowOf(endpoint), { state: 'disabled', failures: 20 });
  await fire(endpoint);
  t.is(await store.deliveries.countDocuments({ endpointId: endpoint.id, state: 'held' }), 5);
  t.is(postsOf(endpoint).length, 0);
  await saveHistory('endpoint-disabled', endpoint);
});

test('failed tests beside five running attempts: the 20th failure disables the endpoint, and no later result changes that', async (t) => {
  const endpoint = await makeEndpoint(0);
  for (let event = 0; event < 5; event++) await fire(endpoint);
  await until('five attempts are running', async () => postsOf(endpoint).length === 5);
  tests.set(endpoint.id, false);
  for (let failure = 1; failure <= 18; failure++) await workflow.test(endpoint.id, randomUUID());
  t.like(await rowOf(endpoint), { failures: 18, state: 'active' });
  await fire(endpoint);
  const outcomes = [false, false, true, false, true];
  for (const [index, post] of postsOf(endpoint).entries()) end(post, outcomes[index] ?? false);
  const states = async () =>
    (await store.deliveries.distinct('_id', { endpointId: endpoint.id, state: 'pending' })).length;
  await until('no delivery is pending', async () => (await states()) === 0);
  t.like(await rowOf(endpoint), { failures: 20, state: 'disabled' });
  const count = (state: 'delivered' | 'held') =>
    store.deliveries.countDocuments({ endpointId: endpoint.id, event: 'api_key.created', state });
  t.is(await count('delivered'), 2);
  t.is(await count('held'), 4, 'three that failed, and one that was stored later');
  t.is(await store.notices.countDocuments({ endpointId: endpoint.id }), 1);
  t.is(postsOf(endpoint).length, 0);
});

test('a sender delivers what is stored while it runs, without a signal to the workflow', async (t) => {
  const endpoint = await makeEndpoint(0);
  await fire(endpoint);
  await until('an attempt is running', async () => postsOf(endpoint).length === 1);
  const handle = client.workflow.getHandle(`webhook-${endpoint.id}`);
  const signals = async () =>
    ((await handle.fetchHistory()).events ?? []).filter(
      (event) => event.workflowExecutionSignaledEventAttributes != null,
    ).length;
  const before = await signals();
  for (let event = 0; event < 3; event++) await fire(endpoint);
  await until('the others are running too', async () => postsOf(endpoint).length === 4);
  t.is(await signals(), before);
  for (const post of postsOf(endpoint)) end(post, true);
  await until('all are delivered', async () => {
    const delivered = { endpointId: endpoint.id, state: 'delivered' } as const;
    return (await store.deliveries.countDocuments(delivered)) === 4;
  });
  await until('the sender has ended', async () => (await rowOf(endpoint))?.sending === undefined);
  await fire(endpoint);
  await until('the next one is attempted', async () => postsOf(endpoint).length === 1);
  t.is(await signals(), before + 1);
  await saveHistory('endpoint-sending', endpoint);
});
