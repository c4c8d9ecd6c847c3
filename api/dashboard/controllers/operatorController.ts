import { randomUUID } from 'node:crypto';
import type { Env } from '../../../schemas/env.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import type { Accounts } from '../../../store/accounts.ts';
import type { Lists } from '../../../store/lists.ts';
import type { Readiness } from '../../../workers/platform/readiness.ts';
import { adjust } from '../../billing/adjustment.ts';
import { setMonthlyAllowance } from '../../billing/allowance.ts';
import type { DispatchEvents } from '../../webhooks/startDispatch.ts';
import type { Failure } from '../components/alert.ts';
import { fieldNumber } from '../number.ts';
import { attempt, goTo, type PageRouter, sendPage, type Visit } from '../pageRouter.ts';
import {
  type AccountPage,
  accountPath,
  DONE,
  type Done,
  OPERATOR_PATH,
  operatorAccountPage,
  operatorPage,
} from '../pages/operatorPage.ts';
import { pageOf, single } from '../query.ts';

interface Dependencies {
  lists: Lists;
  accounts: Accounts;
  dispatchEvents: DispatchEvents;
  readiness: () => Promise<Readiness>;
  env: Pick<Env, 'TEMPORAL_UI_URL'>;
}

const ACCOUNT = `${OPERATOR_PATH}/accounts/:id`;
const EMPTY = { amount: '', reason: '' };

const isDone = (text: string): text is Done => Object.hasOwn(DONE, text);

/** Parses a number of credits, which may have a leading `+`. */
const credits = (text: string): number => fieldNumber(text.replace(/^\+/, ''));

/** Hides the page from owners. @throws ServiceError not_found */
function requireOperator({ viewer }: Visit): void {
  if (viewer.user.role !== 'operator') throw new ServiceError('not_found');
}

/** Registers the operator's pages: accounts, adjustments, allowances and the readiness of the pools. */
export function operatorPages(pageRouter: PageRouter, deps: Dependencies): void {
  const { lists, accounts, readiness, env } = deps;

  async function account(
    { viewer, id }: Visit,
    more: { draft?: Partial<AccountPage['draft']>; failure?: Failure; done?: Done } = {},
  ) {
    const found = await accounts.find(id);
    if (found === null) throw new ServiceError('not_found');
    const { draft, ...rest } = more;
    const filled = { ...EMPTY, monthlyAllowance: `${found.monthlyAllowance}`, ...draft };
    return operatorAccountPage({
      viewer,
      account: found,
      reference: randomUUID(),
      draft: filled,
      ...rest,
    });
  }

  pageRouter.get(OPERATOR_PATH, async (visit) => {
    requireOperator(visit);
    const { ctx, viewer } = visit;
    const page = pageOf(ctx);
    const email = single(ctx, 'email').trim();
    const [rows, ready] = await Promise.all([
      lists.accounts(email === '' ? {} : { email }, page),
      readiness(),
    ]);
    const temporalUiUrl = env.TEMPORAL_UI_URL;
    sendPage(
      ctx,
      operatorPage({ viewer, accounts: rows, cursor: page.cursor, email, temporalUiUrl, readiness: ready }),
    );
  });

  pageRouter.get(ACCOUNT, async (visit) => {
    requireOperator(visit);
    const done = single(visit.ctx, 'done');
    sendPage(visit.ctx, await account(visit, isDone(done) ? { done } : {}));
  });

  pageRouter.post(ACCOUNT, async (visit) => {
    requireOperator(visit);
    const { ctx, id, form } = visit;
    const draft = { amount: form.get('amount') ?? '', reason: form.get('reason') ?? '' };
    const reference = form.get('reference') || randomUUID();
    const apply = async () => {
      const amount = credits(draft.amount);
      await adjust(deps, { accountId: id, amount, reason: draft.reason, reference });
      goTo(ctx, `${accountPath(id)}?done=adjusted`);
    };
    await attempt(ctx, apply, (failure) => account(visit, { draft, failure }));
  });

  pageRouter.get(`${ACCOUNT}/allowance`, async (visit) => {
    requireOperator(visit);
    goTo(visit.ctx, accountPath(visit.id));
  });

  pageRouter.post(`${ACCOUNT}/allowance`, async (visit) => {
    requireOperator(visit);
    const { ctx, id, form } = visit;
    const monthlyAllowance = form.get('monthlyAllowance') ?? '';
    const apply = async () => {
      const set = await setMonthlyAllowance(accounts, id, credits(monthlyAllowance));
      const done: Done = set.monthlyAllowance === 0 ? 'noAllowance' : 'allowance';
      goTo(ctx, `${accountPath(id)}?done=${done}`);
    };
    await attempt(ctx, apply, (failure) => account(visit, { draft: { monthlyAllowance }, failure }));
  });
}
