import { randomUUID } from 'node:crypto';
import test from 'ava';
import { EVENT_KINDS } from '../../schemas/events.ts';
import { createAccounts } from '../../store/accounts.ts';
import { grantAllowances } from '../../store/allowance.ts';
import { createDeliveryAttempts } from '../../store/deliveryAttempts.ts';
import { newDelivery } from '../../store/dispatchEvents.ts';
import { createLedger } from '../../store/ledger.ts';
import { createLists } from '../../store/lists.ts';
import type { CallDoc, EntryDoc, EventDoc, Store } from '../../store/mongo.ts';
import type { Page } from '../../store/pages.ts';
import { createPayments } from '../../store/payments.ts';
import { firstDay, USAGE_INTERVAL, usageOf } from '../../store/usage.ts';
import { until } from '../helpers/until.ts';
import { insertCalls, openDatabases } from './ledgerFixtures.ts';

const LIMIT = 25;
const MANY = 1500;
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

/** The work of the server for one read; its profiler records the figures that `explain` reports. */
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

const at = (number: number) => new Date(Date.UTC(2026, 0, 1) + number * 1000);
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

/** Creates an account with thousands of documents of each kind. */
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

test.serial('every list reads its rows from an index, in index order', async (t) => {
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
    'calls in a rare state': calls({ state: 'refunded' }),
    'calls in a common state': calls({ state: 'charged' }),
    'calls of a tool in a rare state': calls({ tool: 'ping', state: 'refunded' }),
    'calls of a tool in no state': calls({ tool: 'hash-text', state: 'refunded' }),
    'calls of some time': calls({ from, to }),
    'calls of some time, of a tool, in a state': calls({ from, to, tool: 'ping', state: 'charged' }),
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
  // An event has up to ten deliveries, so up to ten times as many are examined.
  for (const filter of [{ state: 'held' }, { state: 'held', event: 'credits.granted' }] as const) {
    const first = await events(filter)({});
    t.is(first.items.length, LIMIT);
    const second = first.nextCursor === null ? {} : { cursor: first.nextCursor };
    t.is((await events(filter)(second)).items.length, RARE - LIMIT);
    for (const cursor of [{}, second])
      check('events by delivery', await readsOf(() => events(filter)(cursor)), (LIMIT + 2) * 10);
  }
  const accounts = createAccounts(store);
  const others = {
    purchases: () => createPayments(store, accounts).list(accountId, LIMIT),
    allowances: () => grantAllowances(store, accounts, '2026-01').next(),
    grants: () => lists.grants(accountId, LIMIT),
    deliveries: () => lists.deliveries(eventIds),
    bodies: () => createDeliveryAttempts(store).bodies(attemptIds),
    use: () => usageOf(store, accountId),
  };
  for (const [name, read] of Object.entries(others)) check(name, await readsOf(read), LIMIT * 4);
});

test.serial(
  'each charge counts once in the usage sums, however many processes add up concurrently',
  async (t) => {
    const { _id: accountId } = await createAccounts(store).create({
      email: `${randomUUID()}@example.com`,
      credits: 1000,
    });
    const prices = { 'hash-text': 1, ping: 2, 'gold-price': 3 };
    const fail = (error: unknown) => t.fail(String(error));
    const [ledger, other] = [createLedger(store, fail), createLedger(store, fail)];
    let open = true;
    const readers = [1, 2, 3].map(async () => {
      while (open) await usageOf(store, accountId);
    });
    const call = async (tool: string, price: number, index: number) => {
      const reservation = {
        callId: randomUUID(),
        accountId,
        tool,
        pool: 'cpu',
        price,
        maxRunning: null,
      } as const;
      await insertCalls(store, [reservation]);
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
    const began = firstDay(new Date(), 1);
    for (let round = 0; round < 4; round++)
      await Promise.all(
        numbers(10).flatMap((i) => Object.entries(prices).map(([tool, price]) => call(tool, price, i))),
      );
    open = false;
    await Promise.all(readers);

    // Two of ten calls are refunded. At midnight a tool has two days.
    const sums = async () => {
      const days = await usageOf(store, accountId);
      t.true(days.every(({ day }) => day >= began));
      return Object.fromEntries(
        Object.keys(prices).map((tool) => [
          tool,
          days.filter((row) => row.tool === tool).reduce((sum, { charged }) => sum + charged, 0),
        ]),
      );
    };
    const expected = { 'hash-text': 32, ping: 64, 'gold-price': 96 };
    t.deepEqual(await sums(), expected);
    await store.usage.deleteOne({ _id: accountId });
    t.deepEqual(await sums(), expected, 'the entries alone give the same sums');

    // An account whose usage is never read.
    await store.usage.deleteOne({ _id: accountId });
    await store.accounts.updateOne({ _id: accountId }, { $set: { seq: USAGE_INTERVAL - 1 } });
    await call('ping', 2, 1);
    await until(
      'the usage is summed',
      async () => (await store.usage.countDocuments({ _id: accountId })) === 1,
    );
    t.deepEqual(await sums(), { ...expected, ping: 66 });
    await Promise.all([ledger.flush(), other.flush()]);
  },
);

test('charges older than the shown period are left out and removed', async (t) => {
  const { _id: accountId } = await createAccounts(store).create({
    email: `${randomUUID()}@example.com`,
    credits: 0,
  });
  const line = (seq: number, days: number): EntryDoc => ({
    _id: `ent_${randomUUID()}`,
    accountId,
    seq,
    at: new Date(Date.now() - days * 86_400_000),
    type: 'charge',
    amount: -days,
    balanceAfter: 0,
    callId: null,
    tool: 'ping',
    source: null,
    reference: null,
  });
  await store.entries.insertMany([line(1, 30), line(2, 5)]);
  await store.accounts.updateOne({ _id: accountId }, { $set: { seq: 2 } });
  t.deepEqual(
    (await usageOf(store, accountId)).map(({ tool, charged }) => [tool, charged]),
    [['ping', 5]],
  );
  const old = { day: firstDay(new Date(), 60), tool: 'ping', charged: 1 };
  await store.usage.updateOne({ _id: accountId }, { $push: { days: old } });
  t.is((await usageOf(store, accountId)).length, 1);
  await store.entries.insertOne(line(3, 1));
  await store.accounts.updateOne({ _id: accountId }, { $set: { seq: 3 } });
  await usageOf(store, accountId);
  t.is((await store.usage.findOne({ _id: accountId }))?.days.length, 2);
});
