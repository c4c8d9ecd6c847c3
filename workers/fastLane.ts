import { Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { createLedgerActivities } from '../activities/ledger/ledgerActivities.ts';
import { callOptions, openCallStart } from '../platform/temporal/callStart.ts';
import { startDispatch } from '../platform/temporal/startDispatch.ts';
import { dataConverter } from '../platform/temporal/temporal.ts';
import { traceWorkflowStarts } from '../platform/temporal/temporalTracing.ts';
import { contextOf, inContext } from '../platform/trace.ts';
import type { Pool } from '../schemas/pools.ts';
import { createLedger } from '../store/ledger/ledger.ts';
import { toolQueue, WORKFLOWS } from '../workflows/contract.ts';
import { loadWorkflowBundle } from './bundle.ts';
import type { WorkerCore } from './core.ts';
import type { FastLane } from './pools.ts';

/** Time limit in milliseconds for the start of a workflow. After it, the API process starts the workflow itself. */
const START_MS = 2000;

/** Creates the fast lane of a pool's worker. @throws EnvError if the worker has no connection to MongoDB */
export async function createFastLane(core: WorkerCore, pool: Pool): Promise<FastLane> {
  const { env, keyring, connection, open, onError, stopping } = core;
  const store = core.requireStore();
  const ledger = open.adopt(createLedger(store, onError), (it) => it.flush());
  // The SDK hands a workflow task to a worker together with the response to the start only if both use the same connection.
  const client = new Client({
    connection,
    namespace: env.TEMPORAL_NAMESPACE,
    dataConverter: dataConverter(keyring),
    interceptors: { workflow: [traceWorkflowStarts] },
  });
  store.onEvents((accountId) => startDispatch(client, accountId).catch(onError));
  return {
    workflowBundle: await loadWorkflowBundle(onError),
    ledger: createLedgerActivities(ledger),
    async start(sealed, traceparent) {
      stopping.throwIfAborted();
      const { request, running } = openCallStart(keyring, sealed);
      const options = callOptions(
        { request: { ...request, inFastLane: true }, running },
        toolQueue(pool, 'fast'),
      );
      const start = () =>
        client.workflow
          .start(WORKFLOWS.callTool, { ...options, requestEagerStart: true })
          .catch((error: unknown) => {
            if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
          });
      await inContext(contextOf(traceparent), () =>
        connection.withDeadline(Date.now() + START_MS, start).then(() => undefined),
      );
    },
  };
}
