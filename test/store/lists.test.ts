import { randomUUID } from 'node:crypto';
import test from 'ava';
import { EVENT_KINDS } from '../../schemas/events.ts';
import type { EntryDoc } from '../../store/accounts/accountDocs.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createLists } from '../../store/accounts/lists.ts';
import { createSearch } from '../../store/accounts/search.ts';
import { createPayments } from '../../store/billing/payments.ts';
import {
  type DailyUsage,
  firstDay,
  percentile,
  sumTimes,
  USAGE_DAYS,
  USAGE_INTERVAL,
  usageOf,
} from '../../store/billing/usage.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { grantAllowances } from '../../store/ledger/allowance.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { Page } from '../../store/mongo/pages.ts';
import { createDeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import { newDelivery } from '../../store/webhooks/events.ts';
import type { EventDoc } from '../../store/webhooks/webhookDocs.ts';
import { insertManyCalls } from '../helpers/manyCalls.ts';
import { until } from '../helpers/until.ts';
import { insertCalls, openDatabases } from './ledgerFixtures.ts';

const LIMIT = 25;
const MANY = 1500;
const MANY_CALLS = 5000;
/** Number of rare documents, which are older than all others. */
const RARE = 40;

let store: Store;
let close: () => PromiseLike<void>;

test.before(async (t) => {
  const databases = await openDatabases(1);
  close = () => databases[Symbol.asyncDispose]();
  store = databases.stores[0] ?? t.fail('no store');
});
test.after.always(() => close?.());

/** The work of the MongoDB server for one read: the figures that `explain` reports, recorded by the profiler. */
interface Read {
  ns: string;
  planSummary: string;
  keysExamined: number;
  docsExamined: number;
  hasSortStage?: true;
}

async function readsOf(work: () => Promise<unknown>): Promise<Read[]> {
  const profile = store.db.collection<Read>('system.profile', { readConcern: { level: 'local' } });
  await profile.drop();
  await store.db.command({ profile: 2 });
  try {
    await work();
  } finally {
    await store.db.command({ profile: 0 });
  }
  return profile.find({ planSummary: { $exists: true } }).toArray();
}

/** Recent enough that MongoDB does not delete the documents as expired. */
const FIRST_DAY = (Math.floor(Date.now() / 86_400_000) - 2) * 86_400_000;
const at = (number: number) => new Date(FIRST_DAY + number * 1000);
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

/** Creates an account that has thousands of documents of each kind. */
async function seed(endpoints: readonly string[]): Promise<string> {
  const { _id: accountId } = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: 1,
  });
  await store.calls.insertMany(
    numbers(MANY).map((i): CallDoc => {
      const rare = i < RARE;
      return {
        _id: randomUUID(),
        accountId,
        keyId: null,
        keyPrefix: null,
        tool: rare || i % 3 === 0 ? 'ping' : 'hash-text',
        cost: 1,
        charged: rare ? 0 : 1,
        state: rare ? 'refunded' : 'charged',
        code: null,
        requestId: `req_${i}`,
        startedAt: at(i),
        touchedAt: at(i),
        finishedAt: at(i),
        actsOnWorld: false,
      };
    }),
  );
  await store.entries.insertMany(
    numbers(MANY).map(
      (i): EntryDoc => ({
        _id: `ent_${randomUUID()}`,
        accountId,
        seq: i + 2,
        at: at(i),
        type: 'charge',
        amount: -1,
        balanceAfter: 1,
        callId: null,
        tool: 'ping',
        source: null,
        reference: null,
      }),
    ),
  );
  await store.accounts.updateOne({ _id: accountId }, { $inc: { seq: MANY } });
  const events = numbers(MANY).map(
    (i): EventDoc => ({
      _id: `evt_${randomUUID()}`,
      accountId,
      event: i < RARE ? 'credits.granted' : (EVENT_KINDS[i % 2] ?? 'credits.low'),
      createdAt: at(i),
      data: {},
    }),
  );
  await store.events.insertMany(events);
  await store.deliveries.insertMany(
    events.flatMap((event, i) =>
      endpoints.map((id) => ({
        ...newDelivery(event, id, i < RARE),
        ...(i >= RARE && { state: 'delivered' as const }),
      })),
    ),
  );
  await store.deliveryAttempts.insertMany(
    events.map(({ _id, event, createdAt }) => ({
      _id: `att_${randomUUID()}`,
      accountId,
      endpointId: endpoints[0] ?? '',
      eventId: _id,
      event,
      attempt: 1,
      at: createdAt,
      statusCode: 200,
      durationMs: 1,
      error: null,
      retryAfterMs: null,
    })),
  );
  await store.payments.insertMany(
    numbers(RARE * 5).map((i) => ({
      _id: `pi_${randomUUID()}`,
      accountId,
      credits: 1,
      amount: 1,
      currency: 'USD',
      test: true,
      paidAt: at(i),
      refunded: 0,
      disputes: [],
      taken: 0,
      reportedAt: at(i),
    })),
  );
  return accountId;
}

test.serial('every list reads its rows from an index, in the order of the index', async (t) => {
  const endpoints = [`whe_${randomUUID()}`, `whe_${randomUUID()}`];
  const accountId = await seed(endpoints);
  for (let i = 0; i < 3; i++) await seed([`whe_${randomUUID()}`]);
  const lists = createLists(store);
  const [from, to] = [at(100), at(200)];
  const page = { limit: LIMIT };
  const shown = await lists.events(accountId, {}, page);
  const eventIds = shown.items.map(({ _id }) => _id);
  const attemptIds = (await lists.attempts(endpoints[0] ?? '', page)).items.map(({ _id }) => _id);
  await usageOf(store, accountId);

  type List = (cursor: { cursor?: string }) => Promise<Page<unknown>>;
  const calls =
    (filter: Parameters<typeof lists.calls>[1]): List =>
    (cursor) =>
      lists.calls(accountId, filter, { ...page, ...cursor });
  const events =
    (filter: Parameters<typeof lists.events>[1]): List =>
    (cursor) =>
      lists.events(accountId, filter, { ...page, ...cursor });
  const pages: Record<string, List> = {
    'all calls': calls({}),
    'calls of a tool': calls({ tool: 'ping' }),
    'calls of no tool': calls({ tool: 'dns-lookup' }),
    'calls from the dashboard': calls({ keyId: null }),
    'calls with no key': calls({ keyId: 'key_1' }),
    'calls in a rare state': calls({ state: 'refunded' }),
    'calls in a common state': calls({ state: 'charged' }),
    'calls of a tool in a rare state': calls({ tool: 'ping', state: 'refunded' }),
    'calls of a tool in no state': calls({ tool: 'hash-text', state: 'refunded' }),
    'calls of some time': calls({ from, to }),
    'calls of some time, of a tool, in a state': calls({ from, to, tool: 'ping', state: 'charged' }),
    payments: (cursor) =>
      createPayments(store, createAccounts(store)).list(accountId, { ...page, ...cursor }),
    grants: (cursor) => lists.grants(accountId, { ...page, ...cursor }),
    notices: (cursor) => lists.notices(accountId, { ...page, ...cursor }),
    'security log': (cursor) => lists.securityEvents(accountId, { ...page, ...cursor }),
    ledger: (cursor) => lists.entries(accountId, { ...page, ...cursor }),
    keys: (cursor) => lists.keys(accountId, { ...page, ...cursor }),
    webhooks: (cursor) => lists.webhooks(accountId, { ...page, ...cursor }),
    attempts: (cursor) => lists.attempts(endpoints[0] ?? '', { ...page, ...cursor }),
    'all events': events({}),
    'events of a kind': events({ event: 'credits.granted' }),
    accounts: (cursor) => lists.accounts({}, { limit: 2, ...cursor }),
  };
  const check = (what: string, reads: readonly Read[], most: number) => {
    t.true(reads.length > 0, what);
    for (const { ns, planSummary, keysExamined, docsExamined, hasSortStage } of reads) {
      const words = `${what}: ${ns} ${planSummary}, ${keysExamined} keys, ${docsExamined} documents`;
      t.notRegex(planSummary, /COLLSCAN/, words);
      t.is(hasSortStage, undefined, words);
      t.true(keysExamined <= most && docsExamined <= most, words);
    }
  };
  for (const [name, list] of Object.entries(pages)) {
    const { nextCursor } = await list({});
    const second = nextCursor === null ? [] : [{ cursor: nextCursor }];
    for (const cursor of [{}, ...second]) check(name, await readsOf(() => list(cursor)), LIMIT + 10);
  }
  // An event has up to ten deliveries, so the server may examine up to ten times as many documents.
  for (const filter of [{ state: 'held' }, { state: 'held', event: 'credits.granted' }] as const) {
    const first = await events(filter)({});
    t.is(first.items.length, LIMIT);
    const second = first.nextCursor === null ? {} : { cursor: first.nextCursor };
    t.is((await events(filter)(second)).items.length, RARE - LIMIT);
    for (const cursor of [{}, second])
      check('events by delivery', await readsOf(() => events(filter)(cursor)), (LIMIT + 2) * 10);
  }
  const accounts = createAccounts(store);
  const search = createSearch(store);
  const callId = (await lists.calls(accountId, {}, { limit: 1 })).items[0]?._id ?? '';
  const others = {
    allowances: () => grantAllowances(store, accounts, '2026-01').next(),
    deliveries: () => lists.deliveries(eventIds),
    attemptContents: () => createDeliveryAttempts(store).contents(attemptIds),
    use: () => usageOf(store, accountId),
    'a call': () => lists.call(accountId, callId),
    'a call by its request id': () => lists.call(accountId, 'req_7'),
    failures: () => lists.failures(accountId, LIMIT),
    'accounts by a part of the address': () => search.accounts('example.c', { limit: 2 }),
    'a key': () => search.key('key_1'),
    'any call by its id': () => search.call(callId),
    'any call by its request id': () => search.call('req_7'),
  };
  for (const [name, read] of Object.entries(others)) check(name, await readsOf(read), LIMIT * 4);
  // The keys with a prefix are few, and sorted.
  for (const { planSummary } of await readsOf(() => search.keys('ut_abcdef')))
    t.notRegex(planSummary, /COLLSCAN/);
});

const DAY_MS = 86_400_000;

/** Totals of all days by tool: calls, calls with a result, credits. */
const totals = (usage: readonly DailyUsage[]) =>
  Object.fromEntries(
    [
      ...Map.groupBy(
        usage.flatMap(({ tools }) => tools),
        ({ tool }) => tool,
      ),
    ].map(([tool, rows]) => [
      tool,
      (['calls', 'succeeded', 'charged'] as const).map((name) =>
        rows.reduce((sum, row) => sum + row[name], 0),
      ),
    ]),
  );

test.serial(
  'each call counts once in the usage sums, however many processes add up concurrently',
  async (t) => {
    const { _id: accountId } = await createAccounts(store).create({
      email: `${randomUUID()}@example.com`,
      credits: 1000,
    });
    const prices = { 'hash-text': 1, ping: 2, 'gold-price': 3 };
    const fail = (error: unknown) => t.fail(String(error));
    const [ledger, other] = [createLedger(store, fail), createLedger(store, fail)];
    const yesterday = firstDay(new Date(), 2).getTime();
    const calls = numbers(40).flatMap((i) =>
      Object.entries(prices).map(([tool, price], n) => ({
        reservation: { callId: randomUUID(), accountId, tool, pool: 'cpu', price, maxRunning: null } as const,
        // Half an hour apart: on two days. The newest ones of today have not been accepted for long.
        startedAt: new Date(Math.min(Date.now(), yesterday + i * DAY_MS * 0.05 + n)),
        index: i,
      })),
    );
    const accept = async (accepted: typeof calls) => {
      await insertCalls(
        store,
        accepted.map(({ reservation }) => reservation),
      );
      for (const { reservation, startedAt } of accepted)
        await store.calls.updateOne({ _id: reservation.callId }, { $set: { startedAt } });
    };
    const settle = async ({ reservation, index }: (typeof calls)[number]) => {
      const { callId } = reservation;
      const writer = index % 2 === 0 ? ledger : other;
      const held = await writer.reserve(reservation);
      if (held.status !== 'held') throw new Error(held.status);
      if (index % 5 === 0) {
        const refund = { wanted: 'refunded', code: 'internal', release: true } as const;
        return writer.settle({ callId, accountId, ...refund });
      }
      return writer.settle({ callId, accountId, wanted: 'charged', nonce: held.nonce });
    };
    await accept(calls);
    let open = true;
    const readers = [1, 2, 3].map(async () => {
      while (open) await usageOf(store, accountId);
    });
    // Old and new calls end in turn, so that sums are stored while others still run.
    const rounds = Map.groupBy(calls, ({ index }) => index % 4);
    for (const round of rounds.values()) await Promise.all(round.map(settle));
    open = false;
    await Promise.all(readers);

    const expected = { 'hash-text': [40, 32, 32], ping: [40, 32, 64], 'gold-price': [40, 32, 96] };
    t.deepEqual(totals(await usageOf(store, accountId)), expected);
    t.true((await store.usageDays.countDocuments({ accountId })) > 0);
    const [day] = await usageOf(store, accountId);
    t.deepEqual(
      [day?.day.getTime(), day?.keys.map(({ keyId, calls: all }) => [keyId, all])],
      [yesterday, [[null, 60]]],
    );
    await store.usageDays.deleteMany({ accountId });
    t.deepEqual(totals(await usageOf(store, accountId)), expected, 'the calls alone give the same sums');

    // An account whose usage is never read.
    await store.usageDays.deleteMany({ accountId });
    await store.accounts.updateOne({ _id: accountId }, { $set: { seq: USAGE_INTERVAL - 1 } });
    const callId = randomUUID();
    const one = { callId, accountId, tool: 'ping', pool: 'cpu', price: 2, maxRunning: null } as const;
    const last = { reservation: one, startedAt: new Date(), index: 1 };
    await accept([last]);
    await settle(last);
    await until('the usage is summed', async () => (await store.usageDays.countDocuments({ accountId })) > 0);
    t.deepEqual(totals(await usageOf(store, accountId)), { ...expected, ping: [41, 33, 66] });
    await Promise.all([ledger.flush(), other.flush()]);
  },
);

test('usage counts calls of the period only, with their durations', async (t) => {
  const { _id: accountId } = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: 0,
  });
  const row = (days: number, durationMs: number): CallDoc => {
    const startedAt = new Date(Date.now() - days * DAY_MS);
    return {
      _id: randomUUID(),
      accountId,
      keyId: 'key_1',
      keyPrefix: 'ut_abcdef',
      tool: 'ping',
      cost: 2,
      charged: 2,
      state: 'charged',
      code: null,
      requestId: `req_${randomUUID()}`,
      startedAt,
      touchedAt: startedAt,
      finishedAt: new Date(startedAt.getTime() + durationMs),
      actsOnWorld: false,
    };
  };
  await store.calls.insertMany([
    row(USAGE_DAYS + 2, 1),
    row(20, 1),
    ...numbers(19).map(() => row(5, 100)),
    row(3, 9000),
  ]);
  const read = async (days: number) => usageOf(store, accountId, days);
  t.deepEqual(totals(await read(USAGE_DAYS)), { ping: [21, 21, 42] });
  const week = await read(7);
  t.deepEqual(totals(week), { ping: [20, 20, 40] });
  t.deepEqual(
    week.flatMap(({ keys }) => keys.map(({ keyPrefix }) => keyPrefix)),
    ['ut_abcdef', 'ut_abcdef'],
  );
  const times = sumTimes(week.flatMap(({ tools }) => tools));
  for (const [share, exact] of [
    [0.5, 100],
    [0.95, 100],
    [0.96, 9000],
  ] as const) {
    const found = percentile(times, share) ?? 0;
    t.true(Math.abs(found - exact) <= exact * 0.1, `${share}: ${found}`);
  }
  t.is(percentile([], 0.5), null);
});

// Runs alone, because the profiler also records the reads of other tests.
test.serial('the overview reads few documents of an account with very many calls', async (t) => {
  const { _id: accountId } = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: 0,
  });
  await insertManyCalls(store, accountId, MANY_CALLS);
  await usageOf(store, accountId);
  const reads = await readsOf(() => usageOf(store, accountId));
  const examined = reads.reduce((sum, { docsExamined }) => sum + docsExamined, 0);
  t.true(examined <= USAGE_DAYS + 10, `${examined} documents`);
});
