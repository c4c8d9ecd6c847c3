import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { SecurityEventDoc, SecurityKind } from '../../store/accounts/securityDocs.ts';
import { OPERATOR, recordSecurity } from '../../store/accounts/securityLog.ts';
import { openDatabases } from './ledgerFixtures.ts';

test('the security log keeps the newest 500 entries of each kind of an account', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const entry = (accountId: string, kind: SecurityKind, secondsAgo: number): SecurityEventDoc => ({
    _id: `sec_${randomUUID()}`,
    accountId,
    at: new Date(Date.now() - secondsAgo * 1000),
    kind,
    subject: `${secondsAgo} s ago`,
    ...OPERATOR,
  });
  const created = Array.from({ length: 510 }, (_, i) => entry('acc_a', 'key_created', i + 1));
  const others = [entry('acc_a', 'signed_in', 9000), entry('acc_b', 'key_created', 9000)];
  await store.securityEvents.insertMany([...created, ...others]);

  await recordSecurity(store, { accountId: 'acc_a', kind: 'key_created', actor: OPERATOR, subject: 'new' });
  const left = await store.securityEvents
    .find({ accountId: 'acc_a', kind: 'key_created' })
    .sort({ at: -1 })
    .toArray();
  t.is(left.length, 500);
  t.is(left[0]?.subject, 'new');
  t.is(left.at(-1)?.subject, '499 s ago');
  t.is(await store.securityEvents.countDocuments({ _id: { $in: others.map(({ _id }) => _id) } }), 2);

  await store.transaction((session) =>
    recordSecurity(store, { accountId: 'acc_a', kind: 'key_created', actor: OPERATOR }, session),
  );
  t.is(await store.securityEvents.countDocuments({ accountId: 'acc_a', kind: 'key_created' }), 500);
});
