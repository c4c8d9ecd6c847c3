import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../../../schemas/errors.ts';
import type { Account } from '../../../../store/accounts/accountDocs.ts';
import { usageOf } from '../../../../store/billing/usage.ts';
import { adjust, checkAdjustment } from '../../../billing/adjustment.ts';
import { setMonthlyAllowance } from '../../../billing/allowance.ts';
import type { Failure } from '../../components/alert.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { fieldNumber } from '../../frame/formValues.ts';
import { attempt, goTo, type Submission, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import { accountPath, OPERATOR_PATH } from '../paths.ts';
import { operatorAdjustmentPage } from './adjustmentView.ts';
import { listRoutes } from './listRoutes.ts';
import { createAccountLists } from './lists.ts';
import { suspensionRoutes } from './suspensionRoutes.ts';
import {
  type AccountDetails,
  type AccountPage,
  DONE,
  type Done,
  OPERATOR_USAGE_DAYS,
  operatorAccountPage,
} from './view.ts';

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
export function accountRoutes(dashboard: Dashboard): void {
  const { operatorPages: pages, core, auth } = dashboard;
  const { store, accounts } = core;
  const accountLists = createAccountLists(dashboard);

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
      usageOf(store, id, OPERATOR_USAGE_DAYS),
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
      await adjust(accounts, { accountId: id, amount: credits(amount), reason, reference, operator });
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

  listRoutes(dashboard, accountLists);
  suspensionRoutes(dashboard, (visit, failure, suspensionReason) =>
    page(visit, { draft: { suspensionReason }, failure }),
  );
}
