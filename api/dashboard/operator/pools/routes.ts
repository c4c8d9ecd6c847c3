import { readSamples } from '../../../../store/status/poolSamples.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { sendPage } from '../../frame/pageRouter.ts';
import { operatorPoolsPage, POOLS_PATH } from './view.ts';

/** Registers the operator's page of queues and pools. */
export function poolsRoutes({ operatorPages: pages, core: { store }, readiness }: Dashboard): void {
  pages.get(POOLS_PATH, async ({ ctx, viewer }) => {
    const [ready, samples] = await Promise.all([readiness(), readSamples(store, new Date())]);
    sendPage(ctx, operatorPoolsPage({ viewer, readiness: ready, samples, now: new Date() }));
  });
}
