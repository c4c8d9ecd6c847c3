import { queuesOf } from '../platform/healthChecks.ts';
import { retryStart } from '../platform/retryStart.ts';
import { isTransient } from '../platform/temporal/retryUntilAborted.ts';
import { startDispatch } from '../platform/temporal/startDispatch.ts';
import { openClient } from '../platform/temporal/temporal.ts';
import { countOldHolds } from '../store/calls/sweeper.ts';
import { AUDIT_TIMEOUT_MS, audit } from '../store/ledger/audit.ts';
import { createLedger } from '../store/ledger/ledger.ts';
import { mongodbUri, untilStoreAnswers } from '../store/mongo/connectStore.ts';
import { ensureIndexes } from '../store/mongo/indexes.ts';
import { openStore } from '../store/mongo/mongo.ts';
import { openReceiptKeys } from '../store/receipts/receiptKeys.ts';
import { findWaiting } from '../store/status/waiting.ts';
import type { WorkerCore } from './core.ts';
import { type Build, createBuild } from './deployment.ts';
import { observeService } from './metrics.ts';
import { ensureSchedules, orchestratorWorker, type PoolOptions } from './pools.ts';

/** Creates the worker of the workflows, with the indexes and the schedules that they need. */
export async function createOrchestrator(core: WorkerCore): Promise<PoolOptions & { build: Build | null }> {
  const { env, registry, metrics, keyring, open, onError } = core;
  const store = core.requireStore();
  await untilStoreAnswers(core, () => ensureIndexes(store));
  const receiptKeys = await untilStoreAnswers(core, () => openReceiptKeys(store, keyring));
  const ledger = open.adopt(createLedger(store, onError), (it) => it.flush());
  const client = await openClient(core, keyring, true);
  store.onEvents((accountId) => startDispatch(client, accountId).catch(onError));
  await retryStart(core, 'temporal', isTransient, () => ensureSchedules(client));
  const onSweep = observeService(
    metrics,
    client,
    queuesOf(registry),
    {
      countOldHolds: () => countOldHolds(store),
      findWaiting: () => findWaiting(store),
      readMaintenance: () => store.maintenance.find().toArray(),
    },
    onError,
  );
  const runAudit = async () => {
    await using owned = new AsyncDisposableStack();
    return await audit(owned.adopt(await openStore(mongodbUri(env), AUDIT_TIMEOUT_MS), (it) => it.close()));
  };
  return {
    ...(await orchestratorWorker(
      store,
      keyring,
      ledger,
      client,
      receiptKeys,
      env,
      registry,
      runAudit,
      onSweep,
      onError,
    )),
    build: env.BUILD_ID === null ? null : createBuild(client, env.BUILD_ID),
  };
}
