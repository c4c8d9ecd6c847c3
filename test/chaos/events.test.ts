import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { audit } from '../../store/audit.ts';
import { openStore, type Store } from '../../store/mongo.ts';
import { makeAccount, type TestAccount } from '../helpers/account.ts';
import { seededRandom } from '../helpers/random.ts';
import { type Receiver, startReceiver } from '../helpers/receiver.ts';
import { type Stack, startOwnServers, startStack } from '../helpers/stack.ts';

/** Events in all; the soak is the same with a bigger number. */
const EVENTS = Number(process.env.TEST_EVENTS ?? 500);
const EVENTS_A_KILL = 100;
const ENDPOINTS = 5;
/** Enough to be low once and exhausted once. */
const CREDITS = 27;
/** Once the faults are over all must have ended within this; of very many most are still to be posted then. */
const LIVENESS_MS = 90_000 + Math.max(0, EVENTS - 500) * 200;
const PATIENCE_MS = 90_000;
const SCHEDULE = '100ms,200ms,500ms,1s,2s,2s,2s,2s,2s,2s,2s,2s';

type Servers = Awaited<ReturnType<typeof startOwnServers>>;
const VICTIMS = ['orchestrator', 'delivery', 'api', 'mongod', 'temporal'] as const;
type Victim = (typeof VICTIMS)[number];

/** Kills it, and starts it again after so many milliseconds. */
async function strike(victim: Victim, awayMs: number, stack: Stack, servers: Servers): Promise<void> {
  if (victim === 'mongod' || victim === 'temporal') {
    await servers[victim].kill('SIGKILL');
    await sleep(awayMs);
    await servers[victim].start();
  } else {
    await stack.kill(victim, 'SIGKILL');
    await sleep(awayMs);
    await stack.restart(victim);
  }
}

/** As a careful client does it: until there is an answer that counts. */
async function insist(send: () => Promise<Response>, isDone: (status: number) => boolean): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; ; await sleep(250)) {
    try {
      const response = await send();
      await response.arrayBuffer();
      if (isDone(response.status)) return;
    } catch (error) {
      // The API was killed, or is not there yet.
      if (Date.now() > end)
        throw new Error(`nobody answered until ${new Date().toISOString()}`, { cause: error });
    }
    if (Date.now() > end) throw new Error('nobody answered');
  }
}

/** Fires two events. A key that nobody was told of is made all the same, and has its event. */
async function makeAndRevokeKey({ manage }: TestAccount): Promise<void> {
  let id = '';
  await insist(
    async () => {
      const response = await manage('/api/v1/account/keys', { name: 'chaos', scopes: ['tools'] });
      if (response.status === 201) ({ id } = await response.clone().json());
      return response;
    },
    (status) => status === 201,
  );
  await insist(
    () => manage(`/api/v1/account/keys/${id}`, undefined, { method: 'DELETE' }),
    (status) => status === 204,
  );
}

/** One call, charged once. */
const spend = ({ call }: TestAccount, number: number): Promise<void> =>
  insist(
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

/** Waits until every event is handed over and every delivery has ended. @returns what was still open in the end */
async function settle({ events, deliveries }: Store) {
  for (const end = Date.now() + LIVENESS_MS; ; await sleep(250)) {
    const waiting = await events.countDocuments({ pending: true });
    const pending = await deliveries.countDocuments({ state: 'pending' });
    if (waiting + pending === 0 || Date.now() > end) return { waiting, pending };
  }
}

test('whoever is killed, no event is lost', async (t) => {
  const kills = Math.max(VICTIMS.length, Math.ceil(EVENTS / EVENTS_A_KILL));
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
    // One in ten fails, as the seed says.
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
  // One kill after the other, so that the next one finds what the last one left half done.
  for (let kill = 0; kill < kills; kill++) {
    const victim = VICTIMS[kill % VICTIMS.length] ?? 'api';
    const [after, away] = [random.integer(500, 3000), random.integer(0, 2000)];
    t.log(`${new Date().toISOString()} ${victim} killed after ${after} ms, away for ${away} ms`);
    await sleep(after);
    await strike(victim, away, stack, servers);
  }
  await Promise.all(work);
  t.deepEqual(await settle(store), { waiting: 0, pending: 0 }, 'all has ended');

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
      if (state === 'delivered') t.true(seen.length > 0, `${_id} came`);
      t.true(new Set(seen.map(({ body }) => body)).size <= 1, `${_id} is the same each time`);
    }
    t.log(`${events.length} events, ${receiver.received.length} deliveries came`);
  }
  t.true(total >= EVENTS, `${total} events`);
  t.deepEqual((await audit(store)).drift, [], 'the books add up');
});
