import { Client, Connection, NamespaceNotFoundError } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import test from 'ava';
import { createMaintenanceActivities } from '../../activities/ledger/maintenanceActivities.ts';
import { createEndpointNotifier } from '../../activities/webhooks/endpointActivities.ts';
import { createLedger } from '../../store/ledger.ts';
import { startNamespace } from '../helpers/stack.ts';
import { openCall, openDatabases, readLedger } from './ledgerFixtures.ts';

test('a hold is released when Temporal knows no workflow of its call, and kept when Temporal returns an error', async (t) => {
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
    // The failure is expected, so its warning is not logged.
    return new MockActivityEnvironment({}, { logger: new DefaultLogger('ERROR') }).run(sweepLedger);
  };
  const call = await openCall(store, { credits: 30, price: 10 });
  await ledger.reserve(call);

  const connection = connect(address);
  await t.throwsAsync(sweepWith(new Client({ connection, namespace: `${namespace}-no-more` })), {
    instanceOf: NamespaceNotFoundError,
  });
  // No server listens there.
  await t.throwsAsync(sweepWith(new Client({ connection: connect('127.0.0.1:9'), namespace })));
  t.like(await readLedger(store, call), { holds: 1, reserved: 10, state: 'running' });

  t.deepEqual(await sweepWith(new Client({ connection, namespace })), { ended: 1, strayHolds: 0 });
  t.like(await readLedger(store, call), { holds: 0, reserved: 0, state: 'refunded', balance: 30 });
});
