import type Router from '@koa/router';
import { createJobs } from '../../store/jobs/jobs.ts';
import { isPaidBack } from '../../store/ledger/paybacks.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import type { Sessions } from '../auth/sessions.ts';
import type { ApiCore } from '../core.ts';
import type { State } from '../http/context.ts';
import { createServe } from '../http/operation.ts';
import { receiptRoutes } from './receiptRoutes.ts';
import { createReceipts } from './receiptService.ts';

/** Creates the signed receipts of calls. */
export function createReceiptsArea(core: ApiCore, { sessions }: { sessions: Sessions }) {
  const { store, apiKeys, attention, limits, lists, receiptKeys, publicUrl } = core;
  const receipts = createReceipts({
    lists,
    jobs: createJobs(store),
    isPaidBack: (call) => isPaidBack(store, call),
    receiptKeys,
    publicUrl,
  });
  return {
    routes(router: Router<State>) {
      const authenticate = createAuthenticate({
        apiKeys,
        onFailure: limits.onFailure,
        attention,
        session: sessions.callerFromSession,
      });
      const serve = createServe(router, { authenticate, rateLimit: limits.rateLimit });
      receiptRoutes(router, { receipts, receiptKeys, serve });
    },
  };
}
