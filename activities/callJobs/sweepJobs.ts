import { heartbeat, log } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ERRORS } from '../../schemas/errors.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { findOpenJobs } from '../../store/jobs/openJobs.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { workflowIds } from '../../workflows/contract.ts';
import type { JobActivities } from '../../workflows/runJob.ts';
import type { JobMaintenanceActivities } from '../../workflows/types.ts';
import type { BatchSteps } from '../batches/batchSteps.ts';
import { isClosed } from '../ledger/scheduledActivities.ts';
import type { ScheduleSteps } from '../schedules/scheduleSteps.ts';
import { startCallback } from './startCallback.ts';
import { wakeQueue } from './wakeQueue.ts';

interface Dependencies {
  store: Store;
  ledger: Pick<Ledger, 'settle'>;
  client: Client;
  endJob: JobActivities['endJob'];
  batches: Pick<BatchSteps, 'sweep'>;
  schedules: Pick<ScheduleSteps, 'sweep'>;
}

const LOST = {
  error: { code: 'internal', detail: ERRORS.internal.detail, members: {}, retryAfter: null },
} as const;

/** Creates the step that completes what a crash, or the loss of Temporal's database, left of jobs. */
export function createJobSweep({
  store,
  ledger,
  client,
  endJob,
  batches,
  schedules,
}: Dependencies): JobMaintenanceActivities {
  const paybacks = createPaybacks({ store, ledger, accounts: createAccounts(store) });

  async function startQueue(accountId: string): Promise<void> {
    if (await isClosed(client, workflowIds.accountJobs(accountId))) await wakeQueue(client, accountId);
  }

  /** Ends a job whose workflow has ended without doing so. Its result is not stored, so that nothing may be charged. */
  async function endLost(jobId: string): Promise<void> {
    if (!(await isClosed(client, workflowIds.call(jobId)))) return;
    // A workflow that ended its job has done so before it closed.
    if ((await store.jobs.findOne({ _id: jobId, state: 'running' })) === null) return;
    const call = await store.calls.findOne({ _id: jobId });
    if (call !== null) await paybacks.settle(call, 'internal');
    await endJob(jobId, LOST);
    log.warn('ended a job whose workflow was lost', { jobId });
  }

  return {
    async sweepJobs() {
      const { accounts, running, callbacks } = await findOpenJobs(store);
      const ofBatches = await batches.sweep(heartbeat);
      for (const accountId of new Set([...accounts, ...ofBatches.waiting])) await startQueue(accountId);
      for (const accountId of ofBatches.unfinished) await wakeQueue(client, accountId);
      for (const { _id } of running) await endLost(_id);
      for (const { _id, accountId } of callbacks)
        if (await isClosed(client, workflowIds.callback(_id))) await startCallback(client, _id, accountId);
      await schedules.sweep(heartbeat);
      heartbeat();
    },
  };
}
