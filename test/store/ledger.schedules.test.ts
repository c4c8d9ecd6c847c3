import test, { type ExecutionContext } from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { sweep } from '../../store/calls/sweeper.ts';
import { audit } from '../../store/ledger/audit.ts';
import {
  createLedger,
  type Ledger,
  type Reservation,
  type ReserveResult,
} from '../../store/ledger/ledger.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { createRandom, type Random, seededRandom } from '../helpers/random.ts';
import { interceptStore } from './intercept.ts';
import { openCall, openDatabases, readLedger } from './ledgerFixtures.ts';
import { Scheduler } from './scheduler.ts';

const SCHEDULES = Number(process.env.TEST_SCHEDULES ?? 150);
const DATABASES = 4;
const PRICE = 10;
/** Interval that disables the flush timer, so that a process flushes only when the schedule makes it. */
const NEVER_MS = 2 ** 31 - 1;

const fail = (error: unknown): never => {
  throw error;
};

/** Retries a step like Temporal retries a ledger activity, but with a limit, so that a livelock fails the test. */
async function retryUntilDone<T>(step: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (attempt === 10) throw error;
    }
  }
}

/** A final state of the call that the ledger returned to one of the actors. */
interface FinalState {
  actor: string;
  state: 'charged' | 'refunded';
}

interface Played {
  finalStates: FinalState[];
  /** Whether the workflow reserved the credits and charged the call, and no other actor tried to end the call. */
  undisturbed: boolean;
  received: ReserveResult | null;
  scheduler: Scheduler;
}

/**
 * Runs one call with several actors, in the order that the scheduler chooses for their database operations: reservation
 * attempts, of which the workflow receives one result; a charge or refund, possibly executed twice; the API, which may
 * give up; the sweeper; a grant; and crashes of any of these.
 */
async function playCall(store: Store, call: Reservation, random: Random): Promise<Played> {
  const scheduler = new Scheduler(random, random.pick([5, 20, 100]));
  const { callId, accountId } = call;
  const finalStates: FinalState[] = [];
  const chance = (percent: number) => random.integer(1, 100) <= percent;
  const world = { started: false, closed: false };

  const process = (name: string) =>
    createLedger(interceptStore(store, scheduler.intercept(name)), fail, NEVER_MS);
  const actor = (name: string, steps: (ledger: Ledger) => Promise<void>) => {
    const ledger = process(name);
    scheduler.start(name, async () => {
      await steps(ledger);
      await ledger.flush();
    });
  };

  const [reserves, settles] = [random.integer(1, 3), random.integer(1, 2)];
  const receivedReserve = random.integer(1, reserves);
  const receivedSettle = random.integer(1, settles);
  const charges = chance(75);
  const givesUp = chance(40);
  const sweeps = chance(50);
  const numbered = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${name} ${i + 1}`);
  const victim = chance(60)
    ? random.pick([...numbered('reserve', reserves), ...numbered('settle', settles), 'api', 'sweeper'])
    : null;
  if (victim !== null) scheduler.killAfter(victim, random.integer(1, 12));

  let received: ReserveResult | null = null;
  const settle = (held: ReserveResult) => {
    for (let i = 1; i <= settles; i++)
      actor(`settle ${i}`, async (ledger) => {
        const { state } = await ledger.settle(
          held.status === 'held' && charges
            ? { callId, accountId, wanted: 'charged', nonce: held.nonce }
            : { callId, accountId, wanted: 'refunded', code: 'target_failed', release: true },
        );
        finalStates.push({ actor: `settle ${i}`, state });
        if (i === receivedSettle) world.closed = true;
      });
  };
  for (let i = 1; i <= reserves; i++)
    actor(`reserve ${i}`, async (ledger) => {
      world.started = true;
      const answer = await retryUntilDone(() => ledger.reserve(call));
      if (i !== receivedReserve) return;
      received = answer;
      settle(answer);
    });
  if (givesUp)
    actor('api', async (ledger) => {
      const { state } = await ledger.settle({
        callId,
        accountId,
        wanted: 'refunded',
        code: 'deadline_exceeded',
        release: true,
      });
      finalStates.push({ actor: 'api', state });
    });
  let sweptEarly = false;
  if (sweeps) {
    const swept = interceptStore(store, scheduler.intercept('sweeper'));
    const isOver = async () => {
      const over = world.closed || !world.started;
      if (!world.closed) sweptEarly ||= over;
      return over;
    };
    actor('sweeper', async (ledger) => {
      await sweep(swept, ledger, isOver);
    });
  }
  if (chance(20))
    scheduler.start('grant', () =>
      scheduler.intercept('grant')('grant', async () => {
        await createAccounts(store).grant({
          accountId,
          type: 'purchase',
          amount: PRICE,
          reference: 'p1',
          reason: null,
        });
      }),
    );
  await scheduler.play();
  // A crashed attempt disturbs the call only if the workflow was to receive the result of this attempt.
  const crashed = victim === `reserve ${receivedReserve}` || victim === `settle ${receivedSettle}`;
  return { finalStates, received, scheduler, undisturbed: charges && !givesUp && !sweptEarly && !crashed };
}

/** Checks the invariants that hold for every order of operations. @returns the violations */
async function faults(store: Store, call: Reservation, played: Played, credits: number): Promise<string[]> {
  const ledger = createLedger(store, fail, NEVER_MS);
  await sweep(store, ledger, async () => true);
  await ledger.flush();
  const ledgerState = await readLedger(store, call);
  const found: string[] = [];
  const expect = (what: string, holds: boolean) => {
    if (!holds) found.push(what);
  };
  const charged = ledgerState.charges.length;
  expect('at most one charge', charged <= 1);
  expect('the balance is the sum of the entries', ledgerState.balance === ledgerState.total);
  expect('the balance is never negative', ledgerState.balance >= 0);
  expect(
    'nothing is held',
    ledgerState.reserved === 0 && ledgerState.holds === 0 && ledgerState.running === 0,
  );
  expect('the call has ended', ledgerState.state !== 'running');
  expect('the call document agrees with the entries', (ledgerState.state === 'charged') === (charged === 1));
  expect('a charged call keeps its key', charged === 0 || ledgerState.keyBound);
  expect('each crossing of the threshold has one notice', ledgerState.notices === ledgerState.crossings);
  for (const { actor, state } of played.finalStates)
    expect(`${actor} received the final state ${state}`, (state === 'charged') === (charged === 1));
  const { received } = played;
  expect(
    'an undisturbed call with a hold is charged',
    !(played.undisturbed && received?.status === 'held') || charged === 1,
  );
  expect(
    'an undisturbed call that can pay has a hold',
    !(played.undisturbed && credits >= PRICE) || received?.status === 'held',
  );
  for (const { what, expected, found: is } of (await audit(store)).drift)
    found.push(`${what}: ${is}, not ${expected}`);
  return found;
}

async function runSchedule(t: ExecutionContext, store: Store, seed: number): Promise<boolean> {
  const random = createRandom(seed);
  const credits = random.pick([5, 10, 30, 100]);
  const call = await openCall(store, { credits, price: PRICE });
  const played = await playCall(store, call, random);
  const found = await faults(store, call, played, credits);
  if (found.length > 0)
    t.fail(
      `TEST_SCHEDULE=${seed}, ${credits} credits: ${found.join('; ')}\n${played.scheduler.history.join('\n')}`,
    );
  const { accountId } = call;
  await Promise.all([
    store.accounts.deleteOne({ _id: accountId }),
    store.calls.deleteOne({ accountId }),
    store.entries.deleteMany({ accountId }),
    store.events.deleteMany({ accountId }),
    store.grants.deleteMany({ accountId }),
    store.notices.deleteMany({ accountId }),
  ]);
  return found.length === 0;
}

test('for any order of the operations of late attempts, retries, an API that gives up and the sweeper, all invariants of a call hold', async (t) => {
  t.timeout(SCHEDULES * 200 + 300_000);
  const random = seededRandom((line) => t.log(line));
  const replay = process.env.TEST_SCHEDULE;
  const seeds =
    replay === undefined
      ? Array.from({ length: SCHEDULES }, () => random.integer(1, 2 ** 31))
      : [Number(replay)];
  await using databases = await openDatabases(Math.min(DATABASES, seeds.length));
  const started = performance.now();
  const count = seeds.length;
  let failed = 0;
  await Promise.all(
    databases.stores.map(async (store) => {
      for (let seed = seeds.pop(); seed !== undefined && failed < 5; seed = seeds.pop())
        if (!(await runSchedule(t, store, seed))) failed++;
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  t.log(`${count - seeds.length} schedules in ${seconds.toFixed(1)} s`);
  t.is(failed, 0);
});
