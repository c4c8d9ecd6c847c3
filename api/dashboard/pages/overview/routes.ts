import { usageOf } from '../../../../store/billing/usage.ts';
import { refusedByDay } from '../../../../store/calls/refusals.ts';
import { accountRow, callRow, keyRow, refusalRow } from '../../../account/rows.ts';
import { DEVICE_PATH } from '../../../auth/devicePlugin.ts';
import { CONNECT_PATH } from '../../../auth/oauthPlugin.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { goTo, HOME, sendPage } from '../../frame/pageRouter.ts';
import { ALL_ENDPOINTS, NEWEST_KEYS, single } from '../../frame/query.ts';
import { takePage } from '../../frame/returnPage.ts';
import { firstSteps } from './firstSteps.ts';
import { overviewPage, PERIODS, SPLITS } from './view.ts';

/** Pages to which visitors may return after sign-in. */
const RETURN_PATHS = [CONNECT_PATH, DEVICE_PATH];
const DEFAULT_PERIOD = 30;
/** Period for an account that is not older than it. */
const FIRST_PERIOD = 7;
const DAY_MS = 86_400_000;
const SHOWN_FAILURES = 5;
/** Refused requests among which those of the last day are. */
const NEWEST_REFUSALS = { limit: 100 };

export function overviewRoutes({ pages, core, webhooks, mails, topUpRuns }: Dashboard): void {
  const { lists, store } = core;
  pages.get(HOME, async ({ ctx, viewer }) => {
    // Every way to sign in ends on this page.
    const remembered = takePage(ctx, RETURN_PATHS);
    if (remembered !== null) return goTo(ctx, remembered);
    const now = new Date();
    const { account } = viewer;
    const accountId = account._id;
    const isYoung = now.getTime() - account.createdAt.getTime() < FIRST_PERIOD * DAY_MS;
    const period =
      PERIODS.find((days) => String(days) === single(ctx, 'days')) ??
      (isYoung ? FIRST_PERIOD : DEFAULT_PERIOD);
    const [usage, keyPage, endpoints, refused, refusals, topUp] = await Promise.all([
      usageOf(store, accountId, period),
      lists.keys(accountId, NEWEST_KEYS),
      webhooks.list(accountId, ALL_ENDPOINTS),
      refusedByDay(store, accountId, period),
      lists.refusals(accountId, {}, NEWEST_REFUSALS),
      topUpRuns.settings(accountId),
    ]);
    // Read after the usage, because reading the usage first copies the newest calls from the journal.
    const failures = await lists.failures(accountId, SHOWN_FAILURES);
    const keys = keyPage.items.map((key) => keyRow(key, account, now));
    const steps = firstSteps({
      openedAt: account.createdAt,
      now,
      sendsMail: mails.delivers,
      hasKey: keys.length > 0,
      hasCalled:
        keys.some(({ lastUsedAt }) => lastUsedAt !== null) ||
        usage.some((day) => day.keys.some(({ keyId }) => keyId !== null)),
      hasEndpoint: endpoints.items.length > 0,
      hasAlert: (account.alerts ?? []).length > 0,
    });
    const page = overviewPage({
      viewer,
      account: accountRow(account),
      openedAt: account.createdAt,
      period,
      split: SPLITS.find((by) => by === single(ctx, 'by')) ?? 'tool',
      usage,
      refused,
      refusals: refusals.items.map(refusalRow),
      topUp,
      keys,
      endpoints: endpoints.items,
      failures: failures.map(callRow),
      steps,
      now,
    });
    sendPage(ctx, page);
  });
}
