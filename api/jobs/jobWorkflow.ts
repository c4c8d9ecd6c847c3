import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { retryUntilAborted } from '../../platform/temporal/retryUntilAborted.ts';
import { inBackground } from '../../platform/temporal/startDispatch.ts';
import type { accountJobs } from '../../workflows/accountJobs.ts';
import {
  accountJobsOptions,
  callbackOptions,
  moreJobs,
  sendCallback,
  WORKFLOWS,
  workflowIds,
} from '../../workflows/contract.ts';
import type { deliverCallback } from '../../workflows/deliverCallback.ts';

const TIMEOUT_MS = 5000;
/** Milliseconds between two signals of `wakeAgain`. */
const PAUSE_MS = 2000;

/** The requests of the API to the workflows of jobs. No other file in this folder sends requests to Temporal. */
export interface JobWorkflow {
  /** Tells the queue of an account, in the background, that it has more jobs. */
  wake(accountId: string): void;
  /** As `wake`, for what can be requested any number of times at no cost: each signal stays in a history for days. */
  wakeAgain(accountId: string): void;
  /** Cancels, in the background, the workflow of a job that was cancelled while it waited for a worker. */
  stopWaiting(jobId: string): void;
  /** Starts the delivery of a callback, in the background. @param id of a job, or of the callback of a batch or a schedule */
  startCallback(id: string, accountId: string): void;
  /** Attempts a callback at once, in the background, whether its delivery runs or has ended. @param id as above */
  sendCallback(id: string, accountId: string): void;
}

/** @param onError receives the errors of requests that could not be sent; the sweeper then finds the jobs */
export function createJobWorkflow(client: Client, onError: (error: unknown) => void): JobWorkflow {
  const send = (request: () => Promise<unknown>) =>
    retryUntilAborted(client, request, AbortSignal.timeout(TIMEOUT_MS));
  const wake = async (accountId: string): Promise<void> => {
    const options = { ...accountJobsOptions(accountId), signal: moreJobs };
    await send(() => client.workflow.signalWithStart<typeof accountJobs>(WORKFLOWS.accountJobs, options));
  };
  return {
    wake: inBackground(wake, onError),
    wakeAgain: inBackground(wake, onError, PAUSE_MS),

    stopWaiting(jobId) {
      send(() => client.workflow.getHandle(workflowIds.call(jobId)).cancel()).catch((error) => {
        // The job has not been started yet.
        if (!(error instanceof WorkflowNotFoundError)) onError(error);
      });
    },

    startCallback(jobId, accountId) {
      const options = callbackOptions(jobId, accountId);
      send(() =>
        client.workflow.start<typeof deliverCallback>(WORKFLOWS.deliverCallback, {
          ...options,
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
        }),
      ).catch((error) => {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) onError(error);
      });
    },

    sendCallback(id, accountId) {
      const options = { ...callbackOptions(id, accountId), signal: sendCallback };
      send(() =>
        client.workflow.signalWithStart<typeof deliverCallback>(WORKFLOWS.deliverCallback, options),
      ).catch(onError);
    },
  };
}
