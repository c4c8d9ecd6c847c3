import { continueAsNew, proxyLocalActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { moreEvents } from './contract.ts';
import type { EndpointActivities } from './types.ts';

const activities = proxyLocalActivities<EndpointActivities>({
  startToCloseTimeout: '12s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** History events after which the workflow continues as new. */
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
    // A signal that arrives after this check makes the server reject the completion; the workflow task is then
    // repeated.
    if (!more) return;
    if (workflowInfo().historyLength > MAX_HISTORY_EVENTS)
      return continueAsNew<typeof dispatchEvents>(accountId);
  }
}
