import { continueAsNew, proxyLocalActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { moreEvents } from './contract.ts';
import type { EndpointActivities } from './types.ts';

const activities = proxyLocalActivities<EndpointActivities>({
  startToCloseTimeout: '12s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** Number of history events from which the workflow continues as new. */
const MAX_HISTORY_EVENTS = 1000;

/** Creates the deliveries of an account's new events and wakes the workflows of their endpoints. */
export async function dispatchEvents(accountId: string): Promise<void> {
  let more = false;
  setHandler(moreEvents, () => {
    more = true;
  });
  for (;;) {
    more = false;
    await activities.dispatchEvents(accountId);
    // If a signal arrives after this check, the Temporal server rejects the completion of the workflow and repeats
    // the workflow task.
    if (!more) return;
    if (workflowInfo().historyLength > MAX_HISTORY_EVENTS)
      return continueAsNew<typeof dispatchEvents>(accountId);
  }
}
