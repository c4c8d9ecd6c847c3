import type Router from '@koa/router';
import { createBroadcasts } from '../../store/accounts/broadcast.ts';
import { closeAccount } from '../../store/accounts/closeAccount.ts';
import { leaseExport } from '../../store/accounts/exportLease.ts';
import { createPasskeys } from '../../store/accounts/passkeys.ts';
import { createSearch } from '../../store/accounts/search.ts';
import { recordSecurity } from '../../store/accounts/securityLog.ts';
import { readShares } from '../../store/accounts/shares.ts';
import { liftSuspension, suspendAccount } from '../../store/accounts/suspension.ts';
import { usageOf } from '../../store/billing/usage.ts';
import { auditAccount } from '../../store/ledger/audit.ts';
import { readSamples } from '../../store/status/poolSamples.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { type DashboardServices, dashboardRoutes } from './dashboardRoutes.ts';

/** Creates the dashboard of owners and operators. */
export const createDashboardArea = (core: ApiCore, services: DashboardServices) => ({
  routes(router: Router<State>) {
    const { env, log, registry, store, accounts, lists, limits } = core;
    dashboardRoutes(router, {
      ...services,
      env,
      log,
      registry,
      accounts,
      lists,
      rateLimit: limits.rateLimit,
      takeToken: limits.takeToken,
      pageLimit: limits.pageLimit,
      countMail: limits.attempts.countMail,
      passkeys: createPasskeys(store),
      search: createSearch(store),
      broadcasts: createBroadcasts(store),
      usageOf: (accountId, days) => usageOf(store, accountId, days),
      recordSecurity: (event) => recordSecurity(store, event),
      leaseExport: (accountId, onLost) => leaseExport(store, accountId, onLost),
      closeAccount: (account) => closeAccount(store, account),
      suspendAccount: (accountId, reason, operator) => suspendAccount(store, accountId, reason, operator),
      liftSuspension: (accountId, operator) => liftSuspension(store, accountId, operator),
      auditAccount: (accountId) => auditAccount(store, accountId),
      readShares: () => readShares(store),
      readSamples: () => readSamples(store, new Date()),
    });
  },
});
