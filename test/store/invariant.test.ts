import test from 'ava';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { createSteps } from '../../store/ledger/batchUpdates.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { interceptStore } from './intercept.ts';
import { openCall, openDatabases } from './ledgerFixtures.ts';

const CREDITS = 30;
const PRICE = 10;

const fail = (error: unknown): never => {
  throw error;
};

/** Opens a call in a new database. */
async function open() {
  const databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const call = await openCall(store, { credits: CREDITS, price: PRICE });
  const ledger = createLedger(store, fail);
  return {
    ...{ store, call, ledger },
    async [Symbol.asyncDispose]() {
      await ledger.flush();
      await databases[Symbol.asyncDispose]();
    },
  };
}

const creditsOf = (store: Store, accountId: string) =>
  store.accounts.findOne({ _id: accountId }, { projection: { balance: 1, reserved: 1, wasSound: 1 } });

for (const [what, set] of Object.entries({
  'reserves more than the balance': { reserved: { $add: ['$reserved', CREDITS + 1] } },
  'takes reserved credits from the balance': { balance: { $subtract: ['$balance', CREDITS + 1] } },
  'releases more than is reserved': { reserved: { $subtract: ['$reserved', 1] } },
}))
  test(`a step that ${what} fails and changes nothing`, async (t) => {
    await using scene = await open();
    const { store, call } = scene;
    const before = await creditsOf(store, call.accountId);
    const step = createSteps(store, { $slice: ['$journal', 1] });
    await t.throwsAsync(
      step({ accountId: call.accountId, callId: call.callId, when: { $eq: [1, 1] }, set }),
      {
        message: new RegExp(call.accountId),
      },
    );
    t.deepEqual(await creditsOf(store, call.accountId), before);
  });

test('steps of many accounts share commands, and one that fails leaves the others', async (t) => {
  await using scene = await open();
  const { store } = scene;
  const commands: string[] = [];
  const counted = interceptStore(store, (name, run) => {
    commands.push(name);
    return run();
  });
  const step = createSteps(counted, { $slice: ['$journal', 1] });
  const calls = await Promise.all(
    Array.from({ length: 40 }, () => openCall(store, { credits: CREDITS, price: PRICE })),
  );
  const results = await Promise.allSettled([
    ...calls.map(({ callId, accountId }, index) => {
      const reserved = { $add: ['$reserved', index % 10 === 7 ? CREDITS + 1 : PRICE] };
      return step({ accountId, callId, when: { $eq: [1, 1] }, set: { reserved } });
    }),
    step({ accountId: 'unknown', callId: 'unknown', when: { $eq: [1, 1] }, set: { reserved: 1 } }),
  ]);
  t.deepEqual(
    results.map((it) => (it.status === 'fulfilled' ? (it.value?.reserved ?? null) : it.status)),
    [...calls.map((_, index) => (index % 10 === 7 ? 'rejected' : PRICE)), null],
  );
  for (const [index, { accountId }] of calls.entries()) {
    const result = results[index];
    if (result?.status === 'rejected') t.regex(String(result.reason), new RegExp(accountId));
    t.like(await creditsOf(store, accountId), { reserved: index % 10 === 7 ? 0 : PRICE });
  }
  t.true(commands.includes('accounts.bulkWrite'));
  t.true(commands.length < 8, commands.join());
});

test('on an account whose credits are wrong, calls end, and no credits are taken', async (t) => {
  await using scene = await open();
  const { store, call, ledger } = scene;
  const { callId, accountId } = call;
  t.like(await ledger.reserve(call), { status: 'held', available: CREDITS - PRICE });
  await store.accounts.updateOne({ _id: accountId }, { $set: { balance: PRICE - 1 } });

  const accounts = createAccounts(store);
  const adjustment = { accountId, type: 'adjustment', amount: -1, reference: 'a', reason: null } as const;
  await t.throwsAsync(accounts.grant(adjustment), { message: new RegExp(accountId) });
  t.like(await creditsOf(store, accountId), { balance: PRICE - 1, reserved: PRICE });

  const refund = { callId, accountId, wanted: 'refunded', code: 'cancelled', release: true } as const;
  t.like(await ledger.settle(refund), { state: 'refunded' });
  t.like(await creditsOf(store, accountId), { balance: PRICE - 1, reserved: 0 });
  await accounts.grant({ ...adjustment, reference: 'b' });
  t.like(await creditsOf(store, accountId), { balance: PRICE - 2, reserved: 0 });
});

test('a price that is no whole number of credits reserves nothing', async (t) => {
  await using scene = await open();
  const { store, call, ledger } = scene;
  for (const price of [-1, 0.5, Number.NaN])
    await t.throwsAsync(ledger.reserve({ ...call, price }), { instanceOf: RangeError }, String(price));
  t.like(await creditsOf(store, call.accountId), { balance: CREDITS, reserved: 0 });
});
