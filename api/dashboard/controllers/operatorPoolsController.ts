import type { Readiness } from '../../../platform/readiness.ts';
import type { PoolSampleDoc } from '../../../store/status/statusDocs.ts';
import { operatorRouter } from '../operatorRouter.ts';
import { type PageRouter, sendPage } from '../pageRouter.ts';
import { operatorPoolsPage, POOLS_PATH } from '../pages/operatorPoolsPage.ts';

interface Dependencies {
  readiness: () => Promise<Readiness>;
  readSamples(): Promise<PoolSampleDoc[]>;
}

/** Registers the operator's page of queues and pools. */
export function operatorPoolPages(pageRouter: PageRouter, { readiness, readSamples }: Dependencies): void {
  operatorRouter(pageRouter).get(POOLS_PATH, async ({ ctx, viewer }) => {
    const [ready, samples] = await Promise.all([readiness(), readSamples()]);
    sendPage(ctx, operatorPoolsPage({ viewer, readiness: ready, samples, now: new Date() }));
  });
}
