import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../../schemas/errors.ts';
import type { Account } from '../../../store/accounts/accountDocs.ts';
import type { Accounts } from '../../../store/accounts/accounts.ts';
import type { Payments } from '../../../store/billing/payments.ts';
import type { DailyUsage } from '../../../store/billing/usage.ts';
import type { Lists } from '../../../store/mongo/lists.ts';
import type { Auth } from '../../auth/auth.ts';
import { adjust, checkAdjustment } from '../../billing/adjustment.ts';
import { setMonthlyAllowance } from '../../billing/allowance.ts';
import type { Webhooks } from '../../webhooks/webhookService.ts';
import type { Failure } from '../components/alert.ts';
import { fieldNumber } from '../number.ts';
import { createAccountLists } from '../operatorAccountLists.ts';
import { operatorRouter } from '../operatorRouter.ts';
import { attempt, goTo, type PageRouter, type Submission, sendPage, type Visit } from '../pageRouter.ts';
import {
  type AccountDetails,
  type AccountPage,
  DONE,
  type Done,
  OPERATOR_USAGE_DAYS,
  operatorAccountPage,
} from '../pages/operatorAccountPage.ts';
import { operatorAdjustmentPage } from '../pages/operatorAdjustmentPage.ts';
import { accountPath, OPERATOR_PATH } from '../pages/operatorPage.ts';
import { single } from '../query.ts';
import { operatorSuspensionPages, type SuspensionDependencies } from './operatorSuspensionController.ts';

interface Dependencies extends SuspensionDependencies {
  lists: Lists;
  accounts: Accounts;
  payments: Pick<Payments, 'list'>;
  webhooks: Pick<Webhooks, 'list'>;
  auth: Pick<Auth, 'find' | 'sessions'>;
  usageOf(accountId: string, days: number): Promise<DailyUsage[]>;
}

const ACCOUNT = `${OPERATOR_PATH}/accounts/:id`;
const EMPTY = { amount: '', reason: '', suspensionReason: '' };
/** Rows of each list on the page of an account; each list also has pages of its own. */
const NEWEST = { limit: 10 };

const isDone = (text: string): text is Done => Object.hasOwn(DONE, text);

/** Parses a number of credits, which may have a leading `+`. */
const credits = (text: string): number => fieldNumber(text.replace(/^\+/, ''));

/** The fields of an adjustment. */
const adjustmentOf = ({ form }: Submission) => ({
  amount: form.get('amount') ?? '',
  reason: form.get('reason') ?? '',
  reference: form.get('reference') || randomUUID(),
});

/** Registers the operator's page of an account, with adjustments and the monthly allowance. */
export function operatorAccountPages(pageRouter: PageRouter, deps: Dependencies): void {
  const { accounts, auth, usageOf } = deps;
  const accountLists = createAccountLists(deps);
  const pages = operatorRouter(pageRouter);

  async function find(id: string): Promise<Account> {
    const account = await accounts.find(id);
    if (account === null) throw new ServiceError('not_found');
    return account;
  }

  async function detailsOf(account: Account): Promise<AccountDetails> {
    const { _id: id } = account;
    const now = new Date();
    const user = await auth.find(account.email);
    const [sessions, usage, lists] = await Promise.all([
      user === null ? [] : auth.sessions(user.id),
      usageOf(id, OPERATOR_USAGE_DAYS),
      Promise.all(
        accountLists.map(async ({ name, title, show }) => {
          const { rows, nextCursor } = await show(account, NEWEST);
          return { name, title, rows, hasMore: nextCursor !== null };
        }),
      ),
    ]);
    return { user, sessions: sessions.length, usage, lists, now };
  }

  async function page(
    { viewer, id }: Visit,
    more: { draft?: Partial<AccountPage['draft']>; failure?: Failure; done?: Done } = {},
  ) {
    const account = await find(id);
    const { draft, ...rest } = more;
    return operatorAccountPage({
      viewer,
      account,
      details: await detailsOf(account),
      reference: randomUUID(),
      draft: { ...EMPTY, monthlyAllowance: `${account.monthlyAllowance}`, ...draft },
      ...rest,
    });
  }

  pages.get(ACCOUNT, async (visit) => {
    const done = single(visit.ctx, 'done');
    sendPage(visit.ctx, await page(visit, isDone(done) ? { done } : {}));
  });

  const review = async (visit: Submission) => {
    const { ctx, viewer, id } = visit;
    const { amount, reason, reference } = adjustmentOf(visit);
    const show = async () => {
      const change = { amount: credits(amount), reason };
      checkAdjustment(change);
      sendPage(ctx, operatorAdjustmentPage({ viewer, account: await find(id), ...change, reference }));
    };
    await attempt(ctx, show, (failure) => page(visit, { draft: { amount, reason }, failure }));
  };
  pages.post(`${ACCOUNT}/adjustment`, review, { page: accountPath });

  pages.post(ACCOUNT, async (visit) => {
    const { ctx, viewer, id } = visit;
    const { amount, reason, reference } = adjustmentOf(visit);
    const operator = { accountId: viewer.account._id, userId: viewer.user.id };
    const apply = async () => {
      await adjust(deps.accounts, { accountId: id, amount: credits(amount), reason, reference, operator });
      goTo(ctx, `${accountPath(id)}?done=adjusted`);
    };
    await attempt(ctx, apply, (failure) => page(visit, { draft: { amount, reason }, failure }));
  });

  const setAllowance = async (visit: Submission) => {
    const { ctx, id, form } = visit;
    const monthlyAllowance = form.get('monthlyAllowance') ?? '';
    const apply = async () => {
      const set = await setMonthlyAllowance(accounts, id, credits(monthlyAllowance));
      const done: Done = set.monthlyAllowance === 0 ? 'noAllowance' : 'allowance';
      goTo(ctx, `${accountPath(id)}?done=${done}`);
    };
    await attempt(ctx, apply, (failure) => page(visit, { draft: { monthlyAllowance }, failure }));
  };
  pages.post(`${ACCOUNT}/allowance`, setAllowance, { page: accountPath });

  operatorSuspensionPages(pageRouter, deps, (visit, failure, suspensionReason) =>
    page(visit, { draft: { suspensionReason }, failure }),
  );
}
