import test, { type ExecutionContext } from 'ava';
import { createAccounts } from '../../store/accounts.ts';
import { audit } from '../../store/audit.ts';
import { createLedger, type Ledger, type Reservation, type ReserveResult } from '../../store/ledger.ts';
import type { Store } from '../../store/mongo.ts';
import { sweep } from '../../store/sweeper.ts';
import { createRandom, type Random, seededRandom } from '../helpers/random.ts';
import { openCall, openLanes, readBooks } from './books.ts';
import { interceptStore } from './intercept.ts';
import { Turns } from './turns.ts';

const SCHEDULES = Number(process.env.TEST_SCHEDULES ?? 1000);
const LANES = 8;
const PRICE = 10;
/** Never by itself: each process flushes when the schedule says so. */
const NEVER_MS = 2 ** 31 - 1;

const fail = (error: unknown): never => {
  throw error;
};

/** As Temporal retries a money step: without limit in practice, here with one that shows a livelock. */
async function insist<T>(step: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (attempt === 10) throw error;
    }
  }
}

/** What somebody was told about how the call ended. */
interface Told {
  who: string;
  state: 'charged' | 'refunded';
}

interface Played {
  told: Told[];
  /** The workflow had its credits, wanted to charge, and nobody else wanted the call to end. */
  undisturbed: boolean;
  heard: ReserveResult | null;
  turns: Turns;
}

/**
 * One call: several attempts to reserve, of which the workflow hears one; a charge or refund, perhaps executed twice;
 * the API that may give up; the sweeper; a grant; processes that die. Every database operation of them is a turn.
 */
async function playCall(store: Store, call: Reservation, random: Random): Promise<Played> {
  const turns = new Turns(random, random.pick([5, 20, 100]));
  const { callId, accountId } = call;
  const told: Told[] = [];
  const chance = (percent: number) => random.integer(1, 100) <= percent;
  const world = { started: false, closed: false };

  const process = (name: string) =>
    createLedger(interceptStore(store, turns.intercept(name)), fail, NEVER_MS);
  const actor = (name: string, steps: (ledger: Ledger) => Promise<void>) => {
    const ledger = process(name);
    turns.start(name, async () => {
      await steps(ledger);
      await ledger.flush();
    });
  };

  const [reserves, settles] = [random.integer(1, 3), random.integer(1, 2)];
  const heardReserve = random.integer(1, reserves);
  const heardSettle = random.integer(1, settles);
  const charges = chance(75);
  const givesUp = chance(40);
  const sweeps = chance(50);
  const numbered = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${name} ${i + 1}`);
  const victim = chance(60)
    ? random.pick([...numbered('reserve', reserves), ...numbered('settle', settles), 'api', 'sweeper'])
    : null;
  if (victim !== null) turns.killAfter(victim, random.integer(1, 12));

  let heard: ReserveResult | null = null;
  const settle = (held: ReserveResult) => {
    for (let i = 1; i <= settles; i++)
      actor(`settle ${i}`, async (ledger) => {
        const { state } = await ledger.settle(
          held.status === 'held' && charges
            ? { callId, accountId, wanted: 'charged', nonce: held.nonce }
            : { callId, accountId, wanted: 'refunded', code: 'target_failed', release: true },
        );
        told.push({ who: `settle ${i}`, state });
        if (i === heardSettle) world.closed = true;
      });
  };
  for (let i = 1; i <= reserves; i++)
    actor(`reserve ${i}`, async (ledger) => {
      world.started = true;
      const answer = await insist(() => ledger.reserve(call));
      if (i !== heardReserve) return;
      heard = answer;
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
      told.push({ who: 'api', state });
    });
  let sweptEarly = false;
  if (sweeps) {
    const swept = interceptStore(store, turns.intercept('sweeper'));
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
    turns.start('grant', () =>
      turns.intercept('grant')('grant', async () => {
        await createAccounts(store).grant({
          accountId,
          type: 'purchase',
          amount: PRICE,
          reference: 'p1',
          reason: null,
        });
      }),
    );
  await turns.play();
  // Who dies unheard does not matter; the death of who was to be heard is that of the workflow.
  const mourned = victim === `reserve ${heardReserve}` || victim === `settle ${heardSettle}`;
  return { told, heard, turns, undisturbed: charges && !givesUp && !sweptEarly && !mourned };
}

/** Everything that must hold whatever the order was. @returns what does not */
async function faults(store: Store, call: Reservation, played: Played, credits: number): Promise<string[]> {
  const ledger = createLedger(store, fail, NEVER_MS);
  await sweep(store, ledger, async () => true);
  await ledger.flush();
  const books = await readBooks(store, call);
  const found: string[] = [];
  const expect = (what: string, holds: boolean) => {
    if (!holds) found.push(what);
  };
  const charged = books.charges.length;
  expect('at most one charge', charged <= 1);
  expect('the balance is the sum of the entries', books.balance === books.total);
  expect('the balance is never negative', books.balance >= 0);
  expect('nothing is held', books.reserved === 0 && books.holds === 0 && books.running === 0);
  expect('the call has ended', books.state !== 'running');
  expect('its row says what the entries say', (books.state === 'charged') === (charged === 1));
  expect('a charged call keeps its key', charged === 0 || books.keyBound);
  for (const { who, state } of played.told)
    expect(`${who} was told ${state}`, (state === 'charged') === (charged === 1));
  const { heard } = played;
  expect(
    'who had the credits, undisturbed, was charged',
    !(played.undisturbed && heard?.status === 'held') || charged === 1,
  );
  expect(
    'who was undisturbed and could pay had the credits',
    !(played.undisturbed && credits >= PRICE) || heard?.status === 'held',
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
      `TEST_SCHEDULE=${seed}, ${credits} credits: ${found.join('; ')}\n${played.turns.history.join('\n')}`,
    );
  const { accountId } = call;
  await Promise.all([
    store.accounts.deleteOne({ _id: accountId }),
    store.calls.deleteOne({ accountId }),
    store.entries.deleteMany({ accountId }),
    store.events.deleteMany({ accountId }),
    store.grants.deleteMany({ accountId }),
  ]);
  return found.length === 0;
}

test('one call, its zombies, its retries, the API that gives up and the sweeper, in any order', async (t) => {
  t.timeout(SCHEDULES * 200 + 60_000);
  const random = seededRandom((line) => t.log(line));
  const replay = process.env.TEST_SCHEDULE;
  const seeds =
    replay === undefined
      ? Array.from({ length: SCHEDULES }, () => random.integer(1, 2 ** 31))
      : [Number(replay)];
  await using lanes = await openLanes(Math.min(LANES, seeds.length));
  const started = performance.now();
  const count = seeds.length;
  let failed = 0;
  await Promise.all(
    lanes.stores.map(async (store) => {
      for (let seed = seeds.pop(); seed !== undefined && failed < 5; seed = seeds.pop())
        if (!(await runSchedule(t, store, seed))) failed++;
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  t.log(`${count - seeds.length} schedules in ${seconds.toFixed(1)} s`);
  t.is(failed, 0);
});
