import { Client, Connection, NamespaceNotFoundError } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import test from 'ava';
import {
  createAuditActivities,
  createMaintenanceActivities,
} from '../../activities/ledger/scheduledActivities.ts';
import { createEndpointNotifier } from '../../activities/webhooks/dispatchActivities.ts';
import { audit } from '../../store/ledger/audit.ts';
import { createLedger } from '../../store/ledger/ledger.ts';
import { findWaiting } from '../../store/status/waiting.ts';
import { startNamespace } from '../helpers/stack.ts';
import { openCall, openDatabases, readLedger } from './ledgerFixtures.ts';

test('a hold is released if Temporal knows no workflow of its call, and kept if Temporal returns an error', async (t) => {
  await using open = new AsyncDisposableStack();
  const { stores } = open.use(await openDatabases(1));
  const [store] = stores;
  if (store === undefined) throw new Error('no database');
  const { temporalAddress: address, namespace } = open.adopt(await startNamespace(), (it) => it.stop());
  const connect = (to: string) =>
    open.adopt(Connection.lazy({ address: to, interceptors: [] }), (it) => it.close());
  const ledger = open.adopt(
    createLedger(store, (error) => t.fail(String(error))),
    (it) => it.flush(),
  );
  const sweepWith = (client: Client) => {
    const channel = createEndpointNotifier(client, false);
    const { sweepLedger } = createMaintenanceActivities(
      store,
      ledger,
      client,
      channel,
      () => undefined,
      false,
    );
    // Log level ERROR, because the sweep fails as expected and its warning is not of interest.
    return new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') }).run(sweepLedger);
  };
  const call = await openCall(store, { credits: 30, price: 10 });
  await ledger.reserve(call);

  const connection = connect(address);
  await t.throwsAsync(sweepWith(new Client({ connection, namespace: `${namespace}-no-more` })), {
    instanceOf: NamespaceNotFoundError,
  });
  // No Temporal server listens at this address.
  await t.throwsAsync(sweepWith(new Client({ connection: connect('127.0.0.1:9'), namespace })));
  t.like(await readLedger(store, call), { holds: 1, reserved: 10, state: 'running' });

  t.deepEqual(await sweepWith(new Client({ connection, namespace })), { ended: 1, strayHolds: 0 });
  t.like(await readLedger(store, call), { holds: 0, reserved: 0, state: 'refunded', balance: 30 });
});

test('the audit records both a run that fails and a run that completes', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const run = (runAudit: Parameters<typeof createAuditActivities>[1]) =>
    new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR', () => undefined) }).run(
      createAuditActivities(store, runAudit).auditLedger,
    );
  await t.throwsAsync(run(() => Promise.reject(new Error('the database is gone'))));
  const failed = await store.maintenance.findOne({ _id: 'audit' });
  t.true(failed?.failedAt instanceof Date);
  t.is(failed?.succeededAt, undefined);

  const call = await openCall(store, { credits: 30, price: 10 });
  t.is(await run(() => audit(store)), 0);
  await store.accounts.updateOne({ _id: call.accountId }, { $inc: { balance: 1 } });
  await run(() => audit(store));
  const found = await store.maintenance.findOne({ _id: 'audit' });
  t.true((found?.drift ?? 0) > 0);
  t.deepEqual(found?.failedAt, failed?.failedAt);
  t.true((found?.succeededAt ?? 0) >= (failed?.failedAt ?? 0));
});

test('the waiting figures show the age of the oldest hold, refund and delivery', async (t) => {
  await using databases = await openDatabases(1);
  const [store] = databases.stores;
  if (store === undefined) throw new Error('no database');
  const none = { oldestHoldSeconds: 0, refundsOwed: 0, oldestRefundSeconds: 0, oldestDeliverySeconds: 0 };
  t.deepEqual(await findWaiting(store), { ...none, disabledEndpoints: 0, paymentsToRefund: 0 });

  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
  await using open = new AsyncDisposableStack();
  const ledger = open.adopt(
    createLedger(store, (error) => t.fail(String(error))),
    (it) => it.flush(),
  );
  const call = await openCall(store, { credits: 30, price: 10 });
  await ledger.reserve(call);
  await store.accounts.updateOne(
    { _id: call.accountId },
    { $set: { [`holds.${call.callId}.at`]: ago(700) } },
  );
  const other = await openCall(store, { credits: 30, price: 10 });
  const lost = { process: null, code: 'internal' };
  await store.calls.updateOne(
    { _id: other.callId },
    { $set: { state: 'charged', finishedAt: ago(60), pendingAnswer: lost } },
  );
  const endpoint = (id: string, state: 'active' | 'disabled', failures: number) => ({
    ...{ _id: id, accountId: 'acc_1', url: 'https://example.com/', events: null, createdAt: ago(0) },
    ...{ secret: '', next: null, state, failures, epoch: 0, notBefore: null, disabledAt: null, turn: 0 },
  });
  await store.webhookEndpoints.insertMany([
    endpoint('good', 'active', 0),
    endpoint('failing', 'active', 2),
    endpoint('off', 'disabled', 9),
  ]);
  const delivery = (endpointId: string, seconds: number) => ({
    ...{ _id: endpointId, accountId: 'acc_1', endpointId, eventId: 'evt_1', event: 'credits.low' as const },
    ...{ createdAt: ago(0), state: 'pending' as const, attempts: 0, tries: 0, nextAt: ago(seconds) },
  });
  await store.deliveries.insertMany([delivery('good', 40), delivery('failing', 900)]);
  const figures = await findWaiting(store);
  t.like(figures, { refundsOwed: 1, disabledEndpoints: 1 });
  const near = (found: number, wanted: number) =>
    t.true(found >= wanted && found < wanted + 30, `${found} is not near ${wanted}`);
  near(figures.oldestHoldSeconds, 700);
  near(figures.oldestRefundSeconds, 60);
  near(figures.oldestDeliverySeconds, 40);
});
