import test from 'ava';
import { createDeliveryAttempts, MAX_EXCHANGES } from '../../store/webhooks/deliveryAttempts.ts';
import type { DeliveryAttemptDoc } from '../../store/webhooks/webhookDocs.ts';
import { openDatabases } from '../store/ledgerFixtures.ts';

const DAY_MS = 86_400_000;

test('an account keeps the newest requests and responses of its attempts, and all attempts', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const attempts = createDeliveryAttempts(store);
  const attempt = (accountId: string, number: number): DeliveryAttemptDoc => ({
    _id: `att_${accountId}_${number}`,
    accountId,
    endpointId: 'whe_1',
    eventId: 'evt_1',
    event: 'credits.granted',
    attempt: number,
    at: new Date(Date.now() - DAY_MS + number * 1000),
    statusCode: 500,
    durationMs: 1,
    error: null,
    retryAfterMs: null,
  });
  const rows = Array.from({ length: MAX_EXCHANGES + 5 }, (_, i) => attempt('acc_a', i));
  await store.deliveryAttempts.insertMany(rows);
  await store.exchanges.insertMany(
    rows.map(({ _id, accountId, at }) => ({
      _id,
      accountId,
      body: 'x',
      expiresAt: new Date(at.getTime() + 30 * DAY_MS),
    })),
  );
  await attempts.record(attempt('acc_b', 0), { body: 'x' });
  await attempts.record(attempt('acc_a', MAX_EXCHANGES + 5), { body: 'newest' });

  t.is(await store.exchanges.countDocuments({ accountId: 'acc_a' }), MAX_EXCHANGES);
  t.is(await store.exchanges.countDocuments({ accountId: 'acc_b' }), 1);
  const kept = await attempts.exchanges(['att_acc_a_5', 'att_acc_a_6', `att_acc_a_${MAX_EXCHANGES + 5}`]);
  t.deepEqual([...kept.keys()].sort(), [`att_acc_a_${MAX_EXCHANGES + 5}`, 'att_acc_a_6'].sort());
  t.is(await store.deliveryAttempts.countDocuments({ accountId: 'acc_a' }), MAX_EXCHANGES + 6);
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
