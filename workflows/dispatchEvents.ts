import { continueAsNew, proxyLocalActivities, setHandler, workflowInfo } from '@temporalio/workflow';
import { moreEvents } from './contract.ts';

export interface DispatchActivities {
  /**
   * Creates the deliveries of an account's new events and wakes the workflows of their endpoints, see
   * store/webhooks/events.ts. It has the name of its workflow, because recorded histories contain it.
   */
  dispatchEvents(accountId: string): Promise<void>;
}

const { dispatchEvents: createDeliveries } = proxyLocalActivities<DispatchActivities>({
  startToCloseTimeout: '12s',
  retry: { initialInterval: '100ms', backoffCoefficient: 2, maximumInterval: '5s' },
});

/** Number of history events from which the workflow continues as new. */
const MAX_HISTORY_EVENTS = 1000;

/**
 * The dispatch of an account's new events: creates their deliveries and wakes the workflows of their endpoints. Storing an
 * event starts it (`store/webhooks/events.ts`); the sweeper repeats the step for events whose dispatch did not start.
 */
export async function dispatchEvents(accountId: string): Promise<void> {
  let more = false;
  setHandler(moreEvents, () => {
    more = true;
  });
  for (;;) {
    more = false;
    await createDeliveries(accountId);
    // If a signal arrives after this check, the Temporal server rejects the completion of the workflow and repeats
    // the workflow task.
    if (!more) return;
    if (workflowInfo().historyLength > MAX_HISTORY_EVENTS)
      return continueAsNew<typeof dispatchEvents>(accountId);
  }
}
