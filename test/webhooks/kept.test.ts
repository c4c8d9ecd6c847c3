import test from 'ava';
import {
  createDeliveryAttempts,
  deleteOldAttempts,
  MAX_CONTENTS,
} from '../../store/webhooks/deliveryAttempts.ts';
import type { DeliveryAttemptDoc } from '../../store/webhooks/webhookDocs.ts';
import { openDatabases } from '../store/ledgerFixtures.ts';

const DAY_MS = 86_400_000;
const START = Date.now() - 3_600_000;

/** An attempt of an account: the one with the number 0 is an hour old, and each further one is a second younger. */
const attempt = (accountId: string, number: number): DeliveryAttemptDoc => ({
  _id: `att_${accountId}_${number}`,
  accountId,
  endpointId: 'whe_1',
  eventId: 'evt_1',
  event: 'credits.granted',
  attempt: number,
  at: new Date(START + number * 1000),
  statusCode: 500,
  durationMs: 1,
  error: null,
  retryAfterMs: null,
});

test('an account keeps the newest requests and responses of its attempts', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const attempts = createDeliveryAttempts(store);
  const rows = Array.from({ length: MAX_CONTENTS + 5 }, (_, i) => attempt('acc_a', i));
  await store.deliveryAttempts.insertMany(rows);
  await store.attemptContents.insertMany(
    rows.map(({ _id, accountId, at }) => ({
      _id,
      accountId,
      body: 'x',
      expiresAt: new Date(at.getTime() + 30 * DAY_MS),
    })),
  );
  await attempts.record(attempt('acc_b', 0), { body: 'x' });
  await attempts.record(attempt('acc_a', MAX_CONTENTS + 5), { body: 'newest' });

  t.is(await store.attemptContents.countDocuments({ accountId: 'acc_a' }), MAX_CONTENTS);
  t.is(await store.attemptContents.countDocuments({ accountId: 'acc_b' }), 1);
  const kept = await attempts.contents(['att_acc_a_5', 'att_acc_a_6', `att_acc_a_${MAX_CONTENTS + 5}`]);
  t.deepEqual([...kept.keys()].sort(), [`att_acc_a_${MAX_CONTENTS + 5}`, 'att_acc_a_6'].sort());
});

test('an account keeps its newest attempts, and those of others are not touched', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const attempts = createDeliveryAttempts(store);
  for (let number = 0; number < 8; number++)
    for (const accountId of ['acc_a', 'acc_b'])
      if (accountId === 'acc_a' || number < 3)
        await attempts.record(attempt(accountId, number), { body: 'x' });
  const numbers = async (accountId: string) =>
    (await store.deliveryAttempts.find({ accountId }).sort({ at: 1 }).toArray()).map((row) => row.attempt);

  await deleteOldAttempts(store, 5);
  t.deepEqual(await numbers('acc_a'), [3, 4, 5, 6, 7]);
  t.deepEqual(await numbers('acc_b'), [0, 1, 2]);
  await attempts.record(attempt('acc_a', 8), { body: 'x' });
  await deleteOldAttempts(store, 5);
  t.deepEqual(await numbers('acc_a'), [4, 5, 6, 7, 8]);
});

test('deliveries that failed or are held expire 90 days after their events, and others do not', async (t) => {
  await using databases = await openDatabases(1);
  const indexes = await databases.stores[0]?.deliveries.indexes();
  const [expiry, ...others] = (indexes ?? []).filter((index) => index.expireAfterSeconds !== undefined);
  t.deepEqual(others, []);
  t.deepEqual(expiry?.key, { createdAt: 1 });
  t.is(expiry?.expireAfterSeconds, 90 * 86_400);
  t.deepEqual(expiry?.partialFilterExpression, { state: { $in: ['failed', 'held'] } });
});
