import { randomUUID } from 'node:crypto';
import { NativeConnection, Worker } from '@temporalio/worker';
import test from 'ava';
import { connectClient, dataConverter } from '../../platform/temporal/temporal.ts';
import { loadWorkflowBundle } from '../../workers/bundle.ts';
import type { AccountJobsActivities } from '../../workflows/accountJobs.ts';
import { TASK_QUEUES, WORKFLOWS } from '../../workflows/contract.ts';
import { startNamespace } from '../helpers/stack.ts';
import { KEYRING } from './workflowHarness.ts';

const PARTS = 3;

test('a step for many rows is done in parts, between which the orchestrator is free', async (t) => {
  await using open = new AsyncDisposableStack();
  const { temporalAddress, namespace } = open.adopt(await startNamespace(), (it) => it.stop());
  const client = open.adopt(
    await connectClient({ TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: namespace }, KEYRING),
    (it) => it.connection.close(),
  );
  const connection = open.adopt(await NativeConnection.connect({ address: temporalAddress }), (it) =>
    it.close(),
  );
  let steps = 0;
  const nextJobs: AccountJobsActivities['nextJobs'] = async () => {
    steps += 1;
    return { jobs: [], ended: [], chunks: [], isUnfinished: steps < PARTS };
  };
  const worker = await Worker.create({
    connection,
    namespace,
    dataConverter: dataConverter(KEYRING),
    taskQueue: TASK_QUEUES.orchestrator,
    workflowBundle: await loadWorkflowBundle((error) => t.log(error)),
    activities: { nextJobs },
  });
  const handle = await client.workflow.start(WORKFLOWS.accountJobs, {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId: randomUUID(),
    args: ['acc_test'],
  });
  await worker.runUntil(handle.result());

  t.is(steps, PARTS);
  const { events } = await handle.fetchHistory();
  const tasksOfSteps = events?.flatMap(({ markerRecordedEventAttributes: marker }) =>
    marker ? [String(marker.workflowTaskCompletedEventId)] : [],
  );
  t.is(new Set(tasksOfSteps).size, PARTS);
});
