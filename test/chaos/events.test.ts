import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { audit } from '../../store/ledger/audit.ts';
import { openStore, type Store } from '../../store/mongo/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { seededRandom } from '../helpers/random.ts';
import { type Receiver, startReceiver } from '../helpers/receiver.ts';
import { type Stack, startOwnServers, startStack } from '../helpers/stack.ts';

/** Number of events; soak tests set a larger number. */
const EVENTS = Number(process.env.TEST_EVENTS ?? 500);
const EVENTS_PER_KILL = 100;
const ENDPOINTS = 5;
/** Credits of an account: calls that use them up cause one `credits.low` and one `credits.exhausted` event. */
const CREDITS = 27;
/** Milliseconds after the last fault within which all deliveries must have ended; longer if there are more events. */
const LIVENESS_MS = 90_000 + Math.max(0, EVENTS - 500) * 200;
/** Milliseconds for which a request is retried. */
const RETRY_MS = 90_000;
const SCHEDULE = '100ms,200ms,500ms,1s,2s,2s,2s,2s,2s,2s,2s,2s';

type Servers = Awaited<ReturnType<typeof startOwnServers>>;
const PROCESSES = ['orchestrator', 'delivery', 'api', 'mongod', 'temporal'] as const;
type ProcessName = (typeof PROCESSES)[number];

/** Kills a process and starts it again after `downMs` milliseconds. */
async function killAndRestart(
  processName: ProcessName,
  downMs: number,
  stack: Stack,
  servers: Servers,
): Promise<void> {
  if (processName === 'mongod' || processName === 'temporal') {
    await servers[processName].kill('SIGKILL');
    await sleep(downMs);
    await servers[processName].start();
  } else {
    await stack.kill(processName, 'SIGKILL');
    await sleep(downMs);
    await stack.restart(processName);
  }
}

/** Repeats a request until its status is final, as a robust client does. @throws after 90 s */
async function sendUntilDone(
  send: () => Promise<Response>,
  isDone: (status: number) => boolean,
): Promise<void> {
  for (const end = Date.now() + RETRY_MS; ; await sleep(250)) {
    try {
      const response = await send();
      await response.arrayBuffer();
      if (isDone(response.status)) return;
    } catch (error) {
      // The API process has been killed and has not restarted yet.
      if (Date.now() > end)
        throw new Error(`no response until ${new Date().toISOString()}`, { cause: error });
    }
    if (Date.now() > end) throw new Error('no final status in time');
  }
}

/**
 * Creates and revokes an API key, which causes two events. If the first response is lost, a retry creates another key
 * and another event.
 */
async function makeAndRevokeKey({ manage }: TestAccount): Promise<void> {
  let id = '';
  await sendUntilDone(
    async () => {
      const response = await manage('/api/v1/account/keys', { name: 'chaos', scopes: ['tools'] });
      if (response.status === 201) ({ id } = await response.clone().json());
      return response;
    },
    (status) => status === 201,
  );
  await sendUntilDone(
    () => manage(`/api/v1/account/keys/${id}`, undefined, { method: 'DELETE' }),
    (status) => status === 204,
  );
}

/** Makes one call, which is charged once although it is retried. */
const spend = ({ call }: TestAccount, number: number): Promise<void> =>
  sendUntilDone(
    () => call('hash-text', { text: `${number}` }, { 'Idempotency-Key': `call-${number}` }),
    (status) => status === 200,
  );

interface Owner {
  account: TestAccount;
  receiver: Receiver;
  endpointId: string;
  since: Date;
}

async function makeOwner(stack: Stack): Promise<Owner> {
  const account = await makeAccount(stack, CREDITS);
  const receiver = await startReceiver();
  const made = await account.manage('/api/v1/account/webhooks', { url: receiver.url });
  const { id, createdAt }: { id: string; createdAt: string } = await made.json();
  return { account, receiver, endpointId: id, since: new Date(createdAt) };
}

/**
 * Waits until every event is dispatched and every delivery has ended, or until the time limit. @returns how many of
 * each are still open
 */
async function waitUntilDelivered({ events, deliveries }: Store) {
  for (const end = Date.now() + LIVENESS_MS; ; await sleep(250)) {
    const undispatched = await events.countDocuments({ pending: true });
    const pending = await deliveries.countDocuments({ state: 'pending' });
    if (undispatched + pending === 0 || Date.now() > end) return { undispatched, pending };
  }
}

test('no event is lost when a process is killed', async (t) => {
  const kills = Math.max(PROCESSES.length, Math.ceil(EVENTS / EVENTS_PER_KILL));
  t.timeout(240_000 + kills * 60_000 + LIVENESS_MS);
  const random = seededRandom((line) => t.log(line));
  await using open = new AsyncDisposableStack();
  const servers = open.adopt(await startOwnServers(), (it) => it.stop());
  const stack = open.adopt(
    await startStack({
      servers,
      pools: ['orchestrator', 'delivery', 'cpu'],
      env: { WEBHOOK_RETRY_SCHEDULE: SCHEDULE },
    }),
    (it) => it.stop(),
  );
  const store = open.adopt(await openStore(stack.mongodbUri), (it) => it.close());
  const owners = await Promise.all(Array.from({ length: ENDPOINTS }, () => makeOwner(stack)));
  for (const { receiver } of owners) {
    open.defer(() => receiver.close());
    // The receiver fails one delivery attempt in ten; the seed determines which.
    receiver.answer(() => ({ status: random.integer(1, 10) === 1 ? 500 : 200 }));
  }

  const work = owners.flatMap(({ account }) => [
    (async () => {
      for (let pair = 0; pair < EVENTS / 2 / ENDPOINTS; pair++) await makeAndRevokeKey(account);
    })(),
    (async () => {
      for (let number = 0; number < CREDITS; number++) await spend(account, number);
    })(),
  ]);
  // The pauses between kills are short, so that a kill can interrupt the recovery from the previous one.
  for (let kill = 0; kill < kills; kill++) {
    const processName = PROCESSES[kill % PROCESSES.length] ?? 'api';
    const [after, downMs] = [random.integer(500, 3000), random.integer(0, 2000)];
    t.log(`${new Date().toISOString()} ${processName} killed after ${after} ms, down for ${downMs} ms`);
    await sleep(after);
    await killAndRestart(processName, downMs, stack, servers);
  }
  await Promise.all(work);
  t.deepEqual(await waitUntilDelivered(store), { undispatched: 0, pending: 0 }, 'all deliveries have ended');

  let total = 0;
  for (const { account, receiver, endpointId, since } of owners) {
    const { accountId } = account;
    const events = await store.events.find({ accountId, createdAt: { $gte: since } }).toArray();
    total += events.length;
    for (const kind of ['credits.low', 'credits.exhausted'])
      t.is(events.filter(({ event }) => event === kind).length, 1, `${kind} once`);
    const rows = await store.deliveries.find({ endpointId }).toArray();
    const stateOf = new Map(rows.map(({ eventId, state }) => [eventId, state]));
    const bodies = Map.groupBy(receiver.received, ({ id }) => id);
    for (const { _id } of events) {
      const state = stateOf.get(_id);
      t.true(state === 'delivered' || state === 'failed' || state === 'held', `${_id} is ${state}`);
      const seen = bodies.get(_id) ?? [];
      if (state === 'delivered') t.true(seen.length > 0, `${_id} was received`);
      t.true(new Set(seen.map(({ body }) => body)).size <= 1, `${_id} has the same body each time`);
    }
    t.log(`${events.length} events, ${receiver.received.length} requests received`);
  }
  t.true(total >= EVENTS, `${total} events`);
  t.deepEqual((await audit(store)).drift, [], 'the ledger is consistent');
});
