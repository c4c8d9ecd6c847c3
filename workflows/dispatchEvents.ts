import { continueAsNew, proxyLocalActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { moreEvents } from './contract.ts';
import type { EndpointActivities } from './types.ts';

const activities = proxyLocalActivities<EndpointActivities>({
  startToCloseTimeout: '12s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** Events of history after which it begins a new run. */
const LONG_HISTORY = 1000;

/** Brings the new events of an account on their way. Started after whatever made one, with nobody waiting for it. */
export async function dispatchEvents(accountId: string): Promise<void> {
  let more = false;
  setHandler(moreEvents, () => {
    more = true;
  });
  for (;;) {
    more = false;
    await activities.dispatchEvents(accountId);
    // What is told after this look makes the server refuse the end, and the step is taken again.
    if (!more) return;
    if (workflowInfo().historyLength > LONG_HISTORY) return continueAsNew<typeof dispatchEvents>(accountId);
  }
}
