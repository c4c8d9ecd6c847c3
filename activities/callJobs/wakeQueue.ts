import type { Client } from '@temporalio/client';
import type { accountJobs } from '../../workflows/accountJobs.ts';
import { accountJobsOptions, moreJobs, WORKFLOWS } from '../../workflows/contract.ts';

/** Tells the queue of an account that it has more jobs; starts it if it does not run. */
export async function wakeQueue(client: Client, accountId: string): Promise<void> {
  const options = { ...accountJobsOptions(accountId), signal: moreJobs };
  await client.workflow.signalWithStart<typeof accountJobs>(WORKFLOWS.accountJobs, options);
}
