import { heartbeat, log } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ERRORS } from '../../schemas/errors.ts';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { findOpenJobs } from '../../store/jobs/openJobs.ts';
import type { Ledger } from '../../store/ledger/ledger.ts';
import { createPaybacks } from '../../store/ledger/paybacks.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { accountJobs } from '../../workflows/accountJobs.ts';
import { accountJobsOptions, moreJobs, WORKFLOWS, workflowIds } from '../../workflows/contract.ts';
import type { JobActivities } from '../../workflows/runJob.ts';
import type { JobMaintenanceActivities } from '../../workflows/types.ts';
import type { BatchSteps } from '../batches/batchSteps.ts';
import { isClosed } from '../ledger/scheduledActivities.ts';
import { startCallback } from './startCallback.ts';

interface Dependencies {
  store: Store;
  ledger: Pick<Ledger, 'settle'>;
  client: Client;
  endJob: JobActivities['endJob'];
  batches: Pick<BatchSteps, 'sweep'>;
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
}: Dependencies): JobMaintenanceActivities {
  const paybacks = createPaybacks({ store, ledger, accounts: createAccounts(store) });

  async function wakeQueue(accountId: string): Promise<void> {
    const options = { ...accountJobsOptions(accountId), signal: moreJobs };
    await client.workflow.signalWithStart<typeof accountJobs>(WORKFLOWS.accountJobs, options);
  }

  async function startQueue(accountId: string): Promise<void> {
    if (await isClosed(client, workflowIds.accountJobs(accountId))) await wakeQueue(accountId);
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
      for (const accountId of ofBatches.unfinished) await wakeQueue(accountId);
      for (const { _id } of running) await endLost(_id);
      for (const { _id, accountId } of callbacks)
        if (await isClosed(client, workflowIds.callback(_id))) await startCallback(client, _id, accountId);
      heartbeat();
    },
  };
}
