import { salesOf } from '../../../../store/billing/sales.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { sendPage } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import { SALES_PATH, SALES_PERIODS, salesPage } from './view.ts';

const DEFAULT_PERIOD = 30;

/** Registers the page of sign-ups and purchases by day. */
export function salesRoutes({ operatorPages: pages, core: { store } }: Dashboard): void {
  pages.get(SALES_PATH, async ({ ctx, viewer }) => {
    const period = SALES_PERIODS.find((days) => String(days) === single(ctx, 'days')) ?? DEFAULT_PERIOD;
    sendPage(ctx, salesPage({ viewer, period, days: await salesOf(store, period, new Date()) }));
  });
}
