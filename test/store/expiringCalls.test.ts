import { randomUUID } from 'node:crypto';
import test from 'ava';
import { usageOf } from '../../store/billing/usage.ts';
import type { CallDoc, CallState } from '../../store/calls/callDocs.ts';
import { sumExpiring } from '../../store/calls/expiringCalls.ts';
import { openCall, openDatabases } from './ledgerFixtures.ts';

const DAY_MS = 86_400_000;

test('calls that were not charged expire after a week, and the usage of later days still includes them', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const { callId, accountId } = await openCall(store, { credits: 10, price: 1 });
  const template = await store.calls.findOneAndDelete({ _id: callId });
  if (template === null) throw new Error('no call');
  const { idempotency: _none, ...rest } = template;
  const call = (state: CallState, days: number): CallDoc => {
    const at = new Date(Date.now() - days * DAY_MS);
    const _id = randomUUID();
    const charged = state === 'charged' ? 1 : 0;
    return { ...rest, _id, state, charged, startedAt: at, touchedAt: at, finishedAt: at };
  };
  const [kept, young, refunded, refused] = [
    call('charged', 8),
    call('refunded', 5),
    call('refunded', 6 + 0.5 / 24),
    call('refused', 6 + 0.5 / 24),
  ];
  await store.calls.insertMany([kept, young, refunded, refused]);
  t.is(await sumExpiring(store), 1);
  t.is(await store.usageDays.countDocuments({ accountId }), 3);
  const before = await usageOf(store, accountId);

  const gone = [refunded._id, refused._id];
  await store.calls.updateMany(
    { _id: { $in: [...gone, kept._id] } },
    { $set: { finishedAt: new Date(Date.now() - 7.1 * DAY_MS) } },
  );
  // What MongoDB does once a minute for an index with `expireAfterSeconds`.
  const index = (await store.calls.indexes()).find(({ key }) => 'finishedAt' in key);
  t.is(index?.expireAfterSeconds, 7 * 86_400);
  await store.calls.deleteMany({
    ...index?.partialFilterExpression,
    finishedAt: { $lt: new Date(Date.now() - 7 * DAY_MS) },
  });
  t.is(await store.calls.countDocuments({ _id: { $in: gone } }), 0);
  t.is(await store.calls.countDocuments({ _id: { $in: [kept._id, young._id] } }), 2);
  t.deepEqual(await usageOf(store, accountId), before);
});
