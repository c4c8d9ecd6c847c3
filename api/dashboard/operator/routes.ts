import type { Dashboard } from '../frame/dashboard.ts';
import { accountRoutes } from './account/routes.ts';
import { batchesRoutes } from './batches/routes.ts';
import { callRoutes } from './call/routes.ts';
import { incidentsRoutes } from './incidents/routes.ts';
import { noticeRoutes } from './notice/routes.ts';
import { overviewRoutes } from './overview/routes.ts';
import { poolsRoutes } from './pools/routes.ts';
import { receiptRoutes } from './receipt/routes.ts';
import { salesRoutes } from './sales/routes.ts';
import { sharesRoutes } from './shares/routes.ts';

const PAGES = [
  overviewRoutes,
  accountRoutes,
  callRoutes,
  receiptRoutes,
  salesRoutes,
  sharesRoutes,
  batchesRoutes,
  poolsRoutes,
  incidentsRoutes,
  noticeRoutes,
];

export function operatorRoutes(dashboard: Dashboard): void {
  for (const routes of PAGES) routes(dashboard);
}
