import test from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { audit } from '../../store/ledger/audit.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { createRandom, seededRandom } from '../helpers/random.ts';
import { attributeAll, repeatKeyed, untilAtRest } from './attribution/attributeAll.ts';
import type { Observation } from './attribution/callers.ts';
import { startDisturbedStack } from './attribution/disturbedStack.ts';
import { causeFaults, type Happened, killName } from './attribution/faults.ts';
import { makeBusyOwner, makeRace, topUp } from './attribution/owners.ts';

/** Number of faults; soak tests set a larger number. */
const FAULTS = Number(process.env.TEST_FAULTS ?? 100);
const BUSY_OWNERS = 3;
const FAULTS_PER_RACE = 10;
/** Milliseconds after which the next race begins although faults have kept some calls from their results. */
const RACE_MS = 30_000;
/** Milliseconds after the last fault within which all affordable calls of a race must have their results. */
const RACE_REST_MS = 300_000;
/** Milliseconds after a response within which its delivery has been recorded, unless MongoDB was unreachable meanwhile. */
const RECORDED_WITHIN_MS = 20_000;
/** Credits that pay for repeating all calls of an account. */
const PLENTY = 1_000_000;

const wasKilledAfter =
  (happened: readonly Happened[]) =>
  ({ api, endedAt }: Observation): boolean =>
    happened.some(
      ({ name, from }) =>
        name === killName(api) && from >= endedAt - 1000 && from <= endedAt + RECORDED_WITHIN_MS,
    );

test('while many faults happen at the same time, every credit is attributed to a call', async (t) => {
  t.timeout(600_000 + FAULTS * 20_000);
  const random = seededRandom((line) => t.log(line));
  const fork = () => createRandom(random.integer(1, 2 ** 31 - 1));
  await using open = new AsyncDisposableStack();
  const disturbed = await startDisturbedStack(open, (line) => t.log(line));
  const store = open.adopt(await openStore(disturbed.mongodbUri), (it) => it.close());
  const accounts = createAccounts(store);
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
      for (const { run } of races) await run(RACE_MS);
    })(),
  ]);
  const stop = new AbortController();
  work.catch(() => stop.abort());
  const began = Date.now();
  const happened = await causeFaults(FAULTS, disturbed, fork, (line) => t.log(line), stop).finally(() => {
    isOver = true;
  });
  const ended = Date.now();
  await work;
  for (const { run, enough } of races)
    t.is(await run(RACE_REST_MS), enough, 'number of calls that the credits pay for');
  await untilAtRest(store);
  t.log(`${happened.length} faults in ${ended - began} ms; at rest ${Date.now() - ended} ms later`);

  for (const { owner } of busy) await topUp(accounts, owner, PLENTY);
  const owners = [...busy, ...races].map(({ owner }) => owner);
  for (const owner of owners) await repeatKeyed(owner);
  await untilAtRest(store);

  const { violations, total } = await attributeAll(store, disturbed, owners, wasKilledAfter(happened));
  t.log(JSON.stringify(total));
  t.deepEqual(violations, []);
  t.true(total.results >= FAULTS, 'enough calls had results');
  t.true(total.throughMcp > 0, 'some of them through MCP');
  t.deepEqual((await audit(store)).drift, [], 'the ledger is consistent');
});
