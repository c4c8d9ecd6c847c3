import test from 'ava';
import { createAccounts } from '../../store/accounts.ts';
import { audit } from '../../store/audit.ts';
import { openStore, type Store } from '../../store/mongo.ts';
import { createRandom, seededRandom } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';
import { attribute } from './attribution/attribute.ts';
import type { Observation } from './attribution/callers.ts';
import { startDisturbedStack } from './attribution/disturbedStack.ts';
import { causeFaults, type Happened, killName } from './attribution/faults.ts';
import { makeBusyOwner, makeRace, type Owner, topUp } from './attribution/owners.ts';
import { readRecords } from './attribution/records.ts';

/** Number of faults; soak tests set a larger number. */
const FAULTS = Number(process.env.TEST_FAULTS ?? 60);
const BUSY_OWNERS = 3;
const FAULTS_PER_RACE = 10;
/** Milliseconds after the last call within which everything must have ended. */
const REST_MS = 180_000;
/** Milliseconds after a response within which its delivery has been recorded, unless MongoDB was unreachable meanwhile. */
const RECORDED_WITHIN_MS = 20_000;
/** More than all repeated calls of an account cost. */
const PLENTY = 1_000_000;
const AT_ONCE = 4;

/** Waits until nothing runs or is reserved, and every refund and every event has been delivered. */
async function untilAtRest({ accounts, calls, events, deliveries }: Store): Promise<void> {
  const open = async () => ({
    running: await calls.countDocuments({ state: 'running' }),
    holding: await accounts.countDocuments({ $or: [{ reserved: { $ne: 0 } }, { holds: { $ne: {} } }] }),
    unanswered: await calls.countDocuments({ pendingAnswer: { $exists: true } }),
    undispatched: await events.countDocuments({ pending: true }),
    undelivered: await deliveries.countDocuments({ state: 'pending' }),
  });
  const isAtRest = async () => Object.values(await open()).every((count) => count === 0);
  await until('everything is at rest', isAtRest, REST_MS).catch(async (error) => {
    throw new Error(`not at rest: ${JSON.stringify(await open())}`, { cause: error });
  });
}

/** Repeats every call with a key. It now gets its result, or the error that is stored under the key. */
async function repeatKeyed({ keyed }: Owner): Promise<void> {
  const waiting = [...keyed];
  const repeat = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      await next.caller.send(next.plan, null);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, repeat));
}

const wasKilledAfter =
  (happened: readonly Happened[]) =>
  ({ api, endedAt }: Observation): boolean =>
    happened.some(
      ({ name, from }) =>
        name === killName(api) && from >= endedAt - 1000 && from <= endedAt + RECORDED_WITHIN_MS,
    );

test('with many faults at once, every credit is attributed to a call', async (t) => {
  t.timeout(600_000 + FAULTS * 20_000);
  const random = seededRandom((line) => t.log(line));
  const fork = () => createRandom(random.integer(1, 2 ** 31 - 1));
  await using open = new AsyncDisposableStack();
  const disturbed = await startDisturbedStack(open, (line) => t.log(line));
  const { receiver, target } = disturbed;
  const store = open.adopt(await openStore(disturbed.mongodbUri), (it) => it.close());
  const accounts = createAccounts(store);
  const failedOnce = new Set<string>();
  receiver.answer(({ id }) => {
    const fails = id.endsWith('0') && !failedOnce.has(id);
    failedOnce.add(id);
    return { status: fails ? 500 : 200 };
  });
  const busy = await Promise.all(
    Array.from({ length: BUSY_OWNERS }, (_, number) => makeBusyOwner(disturbed, number, fork)),
  );
  const races = await Promise.all(
    Array.from({ length: Math.ceil(FAULTS / FAULTS_PER_RACE) }, (_, number) =>
      makeRace(disturbed, number, fork()),
    ),
  );

  let isOver = false;
  const work = Promise.all([
    ...busy.map(({ run }) => run(accounts, () => isOver)),
    (async () => {
      for (const { run, enough } of races) t.is(await run(), enough, 'credits for exactly so many calls');
    })(),
  ]);
  // It may fail before it is awaited.
  work.catch(() => undefined);
  const began = Date.now();
  const happened = await causeFaults(FAULTS, disturbed, fork, (line) => t.log(line)).finally(() => {
    isOver = true;
  });
  const ended = Date.now();
  await work;
  await untilAtRest(store);
  t.log(`${happened.length} faults in ${ended - began} ms; at rest ${Date.now() - ended} ms later`);

  for (const { owner } of busy) await topUp(accounts, owner, PLENTY);
  const owners = [...busy, ...races].map(({ owner }) => owner);
  for (const owner of owners) await repeatKeyed(owner);
  await untilAtRest(store);

  const origins = new Map(
    (await store.calls.find({}, { projection: { requestId: 1, idempotency: 1 } }).toArray()).map(
      ({ _id, requestId, idempotency }) => [_id, { requestId, key: idempotency?.key ?? null }],
    ),
  );
  const violations: string[] = [];
  const total = { requests: 0, answered: 0, results: 0, calls: 0, returned: 0, free: 0, events: 0 };
  for (const { account, credits, topUps, observations, keyChanges } of owners) {
    const deliveries = receiver.received.filter(({ path }) => path === `/${account.accountId}`);
    const found = attribute({
      credits,
      topUps,
      observations,
      records: await readRecords(account),
      origins,
      posts: target.posts,
      deliveries,
      keyChanges,
      wasKilledAfter: wasKilledAfter(happened),
    });
    violations.push(...found.violations);
    total.requests += observations.length;
    total.answered += observations.filter(({ response }) => response !== null).length;
    total.results += observations.filter(({ response }) => response?.status === 200).length;
    total.calls += found.calls;
    total.returned += found.returned;
    total.free += found.free;
    total.events += new Set(deliveries.map(({ id }) => id)).size;
  }
  t.log(JSON.stringify(total));
  t.deepEqual(violations, []);
  t.true(total.results >= FAULTS, 'there was load');
  t.deepEqual((await audit(store)).drift, [], 'the ledger is consistent');
});
