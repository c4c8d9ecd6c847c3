import { invalidInput } from '../../../schemas/errors.ts';
import type { AccountDoc, GrantOperator } from '../../../store/accounts/accountDocs.ts';
import type { Share } from '../../../store/accounts/shares.ts';
import { REASON_LENGTH } from '../../billing/adjustment.ts';
import type { Failure } from '../components/alert.ts';
import { operatorRouter } from '../operatorRouter.ts';
import { attempt, goTo, type PageRouter, type Submission, sendPage, type Visit } from '../pageRouter.ts';
import type { Done } from '../pages/operatorAccountPage.ts';
import { accountPath, OPERATOR_PATH } from '../pages/operatorPage.ts';
import { operatorSharesPage, SHARES_PATH } from '../pages/operatorSharesPage.ts';

export interface SuspensionDependencies {
  suspendAccount(accountId: string, reason: string, operator: GrantOperator): Promise<AccountDoc>;
  liftSuspension(accountId: string, operator: GrantOperator): Promise<AccountDoc>;
  readShares(): Promise<Share[]>;
}

const ACCOUNT = `${OPERATOR_PATH}/accounts/:id`;

const operatorOf = ({ viewer }: Visit): GrantOperator => ({
  accountId: viewer.account._id,
  userId: viewer.user.id,
});

/**
 * Registers the page of the accounts that hold most, and the forms that suspend an account.
 *
 * @param accountPage renders the page of the account with a failure of these forms
 */
export function operatorSuspensionPages(
  pageRouter: PageRouter,
  { suspendAccount, liftSuspension, readShares }: SuspensionDependencies,
  accountPage: (visit: Visit, failure: Failure, suspensionReason: string) => Promise<string>,
): void {
  const pages = operatorRouter(pageRouter);
  const leave = ({ ctx, id }: Submission, done: Done) => goTo(ctx, `${accountPath(id)}?done=${done}`);

  pages.get(SHARES_PATH, async ({ ctx, viewer }) => {
    sendPage(ctx, operatorSharesPage(viewer, await readShares()));
  });

  const suspend = async (visit: Submission) => {
    const reason = (visit.form.get('suspensionReason') ?? '').trim();
    const apply = async () => {
      if (reason === '' || reason.length > REASON_LENGTH) {
        const message = `must have 1 to ${REASON_LENGTH} characters`;
        throw invalidInput([{ pointer: '/suspensionReason', message }]);
      }
      await suspendAccount(visit.id, reason, operatorOf(visit));
      leave(visit, 'suspended');
    };
    await attempt(visit.ctx, apply, (failure) => accountPage(visit, failure, reason));
  };
  pages.post(`${ACCOUNT}/suspension`, suspend, { page: accountPath });

  const lift = async (visit: Submission) => {
    await liftSuspension(visit.id, operatorOf(visit));
    leave(visit, 'lifted');
  };
  pages.post(`${ACCOUNT}/lift`, lift, { page: accountPath });
}
