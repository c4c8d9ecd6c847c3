import type Router from '@koa/router';
import { createBroadcasts } from '../../store/accounts/broadcast.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { assetRoutes } from './frame/assets.ts';
import type { DashboardServices } from './frame/dashboard.ts';
import { dismissalRoutes } from './frame/dismissalRoutes.ts';
import { operatorRouter } from './frame/operatorRouter.ts';
import { createPageRouter } from './frame/pageRouter.ts';
import { operatorRoutes } from './operator/routes.ts';
import { batchesRoutes } from './pages/batches/routes.ts';
import { billingRoutes } from './pages/billing/routes.ts';
import { callsRoutes } from './pages/calls/routes.ts';
import { connectRoutes } from './pages/connect/routes.ts';
import { connectedAppsRoutes } from './pages/connectedApps/routes.ts';
import { creditsRoutes } from './pages/credits/routes.ts';
import { deviceRoutes } from './pages/device/routes.ts';
import { eventsRoutes } from './pages/events/routes.ts';
import { jobsRoutes } from './pages/jobs/routes.ts';
import { keysRoutes } from './pages/keys/routes.ts';
import { ledgerRoutes } from './pages/ledger/routes.ts';
import { overviewRoutes } from './pages/overview/routes.ts';
import { receiptsRoutes } from './pages/receipts/routes.ts';
import { refusedRoutes } from './pages/refused/routes.ts';
import { schedulesRoutes } from './pages/schedules/routes.ts';
import { settingsRoutes } from './pages/settings/routes.ts';
import { signInRoutes } from './pages/signIn/routes.ts';
import { toolsRoutes } from './pages/tools/routes.ts';
import { webhooksRoutes } from './pages/webhooks/routes.ts';

const PAGES = [
  signInRoutes,
  overviewRoutes,
  toolsRoutes,
  // Before the page of a call, whose path also matches.
  refusedRoutes,
  callsRoutes,
  batchesRoutes,
  jobsRoutes,
  schedulesRoutes,
  keysRoutes,
  connectedAppsRoutes,
  connectRoutes,
  deviceRoutes,
  webhooksRoutes,
  eventsRoutes,
  creditsRoutes,
  billingRoutes,
  receiptsRoutes,
  ledgerRoutes,
  settingsRoutes,
  operatorRoutes,
  dismissalRoutes,
];

/** Creates the dashboard of owners and operators. Its pages work without JavaScript (progressive enhancement). */
export const createDashboardArea = (core: ApiCore, services: DashboardServices) => ({
  routes(router: Router<State>) {
    assetRoutes(router, core.registry);
    const broadcasts = createBroadcasts(core.store);
    const pages = createPageRouter(router, core, { ...services, broadcasts });
    const operatorPages = operatorRouter(pages);
    for (const routes of PAGES) routes({ ...services, core, pages, operatorPages, broadcasts });
    pages.notFound('/dashboard/{*path}');
  },
});
