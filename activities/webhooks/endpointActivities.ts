import type { Store } from '../../store/mongo/mongo.ts';
import { prepareTest, resend, syncEndpoint } from '../../store/webhooks/deliveries.ts';
import type { EndpointActivities } from '../../workflows/types.ts';

/** Creates the database steps of webhook endpoints, which the orchestrator runs as local activities. */
export const createEndpointActivities = (
  store: Store,
  scheduleMs: readonly number[],
): EndpointActivities => ({
  async syncEndpoint(turn) {
    const state = await syncEndpoint(store, turn);
    return state === null ? null : { ...state, scheduleMs: [...scheduleMs] };
  },
  resend: (endpointId, wanted, running) => resend(store, endpointId, wanted, running),
  prepareTest: (endpointId, testId, kind) => prepareTest(store, endpointId, testId, kind),
});
