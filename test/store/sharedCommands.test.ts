import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import type { Filter, FindOptions } from 'mongodb';
import type { AccountDoc } from '../../store/accounts/accountDocs.ts';
import { audit } from '../../store/ledger/audit.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { ensureIndexes } from '../../store/mongo/indexes.ts';
import { openStore } from '../../store/mongo/mongo.ts';
import { startCuttingProxy } from '../helpers/cuttingProxy.ts';
import { startDatabase } from '../helpers/stack.ts';
import { retryUntilDone } from './crashes.ts';
import { interceptStore } from './intercept.ts';
import { openCall, openDatabases, readLedger } from './ledgerFixtures.ts';

const ACCOUNTS = 8;
const CREDITS = 30;
const PRICE = 10;

/** Where the connection is lost: within the command, so that nothing is applied, or within the reply to it. */
const CUTS = {
  command: { direction: 'sent', bytes: 1000 },
  reply: { direction: 'received', bytes: 10 },
} as const;

for (const [part, { direction, bytes }] of Object.entries(CUTS))
  test(`when the ${part} of steps of several accounts is lost, they are repeated and take effect once`, async (t) => {
    await using open = new AsyncDisposableStack();
    const { mongodbUri } = open.adopt(await startDatabase(), (it) => it.stop());
    const direct = open.adopt(await openStore(mongodbUri), (it) => it.close());
    await ensureIndexes(direct);
    const proxy = open.adopt(await startCuttingProxy(mongodbUri), (it) => it.close());
    const viaProxy = new URL(mongodbUri);
    viaProxy.host = new URL(proxy.baseUrl).host;
    viaProxy.search = 'directConnection=true';
    const store = open.adopt(await openStore(viaProxy.href), (it) => it.close());
    let cutsLeft = 0;
    const cutting = interceptStore(store, (name, run) => {
      if (name === 'accounts.bulkWrite' && cutsLeft-- > 0) proxy.cutAfter(direction, bytes);
      return run();
    });
    const ledger = createLedger(cutting, () => undefined);
    const calls = await Promise.all(
      Array.from({ length: ACCOUNTS }, () => openCall(direct, { credits: CREDITS, price: PRICE })),
    );

    cutsLeft = 1;
    const held = await Promise.all(calls.map((call) => retryUntilDone(() => ledger.reserve(call))));
    t.is(proxy.cuts(), 1);
    t.deepEqual(new Set(held.map(({ status }) => status)), new Set(['held']));

    cutsLeft = 1;
    const settled = await Promise.all(
      calls.map(({ callId, accountId }, i) => {
        const answer = held[i];
        const nonce = answer?.status === 'held' ? answer.nonce : '';
        return retryUntilDone(() =>
          i % 2 === 0
            ? ledger.settle({ callId, accountId, wanted: 'charged', nonce })
            : ledger.settle({ callId, accountId, wanted: 'refunded', code: 'target_failed', release: true }),
        );
      }),
    );
    t.is(proxy.cuts(), 2);
    await retryUntilDone(ledger.flush);
    for (const [i, call] of calls.entries()) {
      const state = i % 2 === 0 ? 'charged' : 'refunded';
      const paid = i % 2 === 0 ? PRICE : 0;
      t.is(settled[i]?.state, state);
      t.is(settled[i]?.available, CREDITS - paid);
      t.like(await readLedger(direct, call), { state, balance: CREDITS - paid, reserved: 0, holds: 0 });
    }
    t.deepEqual((await audit(direct)).drift, []);
  });

test('a settlement whose result is read as it was before is repeated', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const calls = await Promise.all(
    Array.from({ length: ACCOUNTS }, () => openCall(store, { credits: CREDITS, price: PRICE })),
  );
  // A new primary can read like this, until it knows what the majority has acknowledged to the earlier one.
  await using session = store.client.startSession({ snapshot: true });
  let isBehind = false;
  const accounts = new Proxy(store.accounts, {
    get: (target, key) =>
      key === 'find' && isBehind
        ? (filter: Filter<AccountDoc>, options: FindOptions) =>
            target.find(filter, { ...options, session, readConcern: { level: 'snapshot' } })
        : Reflect.get(target, key),
  });
  const ledger = createLedger({ ...store, accounts }, (error) => t.fail(String(error)));
  const held = await Promise.all(calls.map((call) => ledger.reserve(call)));
  await store.accounts.find({}, { session, readConcern: { level: 'snapshot' } }).toArray();
  const settle = () =>
    Promise.allSettled(
      calls.map(({ callId, accountId }, i) => {
        const answer = held[i];
        return i % 2 === 0 && answer?.status === 'held'
          ? ledger.settle({ callId, accountId, wanted: 'charged', nonce: answer.nonce })
          : ledger.settle({ callId, accountId, wanted: 'refunded', code: 'target_failed', release: true });
      }),
    );
  isBehind = true;
  t.deepEqual(
    (await settle()).map(({ status }) => status),
    calls.map(() => 'rejected'),
  );
  isBehind = false;
  t.deepEqual(
    (await settle()).map((it) => it.status === 'fulfilled' && it.value.state),
    calls.map((_, i) => (i % 2 === 0 ? 'charged' : 'refunded')),
  );
  await ledger.flush();
  t.deepEqual((await audit(store)).drift, []);
});

test('accounts that a transaction has locked delay no other account', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const calls = await Promise.all(
    Array.from({ length: ACCOUNTS }, () => openCall(store, { credits: CREDITS, price: PRICE })),
  );
  const locked = calls.slice(0, 3);
  await using session = store.client.startSession();
  session.startTransaction();
  const ids = locked.map(({ accountId }) => accountId);
  await store.accounts.updateMany({ _id: { $in: ids } }, { $inc: { keysMade: 1 } }, { session });

  const ledger = createLedger(store, (error) => t.fail(String(error)));
  const answers: ReturnType<typeof ledger.reserve>[] = [];
  for (const call of calls) {
    answers.push(ledger.reserve(call));
    // The first two have a command of their own, the third shares one with the accounts that are not locked.
    if (answers.length < locked.length) await setImmediate();
  }
  const [held, others] = [answers.slice(0, locked.length), answers.slice(locked.length)];
  t.deepEqual(
    (await Promise.all(others)).map(({ status }) => status),
    others.map(() => 'held'),
  );
  // The transaction is still open, which MongoDB ends after some seconds.
  await session.commitTransaction();
  t.deepEqual(
    (await Promise.all(held)).map(({ status }) => status),
    held.map(() => 'held'),
  );
  t.deepEqual((await audit(store)).drift, []);
});
