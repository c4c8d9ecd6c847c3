import { invalidInput } from '../../../../schemas/errors.ts';
import type { GrantOperator } from '../../../../store/accounts/accountDocs.ts';
import { liftSuspension, suspendAccount } from '../../../../store/accounts/suspension.ts';
import { REASON_LENGTH } from '../../../billing/adjustment.ts';
import type { Failure } from '../../components/alert.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, type Submission, type Visit } from '../../frame/pageRouter.ts';
import { accountPath, OPERATOR_PATH } from '../paths.ts';
import type { Done } from './view.ts';

const ACCOUNT = `${OPERATOR_PATH}/accounts/:id`;

const operatorOf = ({ viewer }: Visit): GrantOperator => ({
  accountId: viewer.account._id,
  userId: viewer.user.id,
});

/**
 * Registers the forms that suspend an account and end its suspension.
 *
 * @param accountPage renders the page of the account with a failure of these forms
 */
export function suspensionRoutes(
  { operatorPages: pages, core: { store } }: Dashboard,
  accountPage: (visit: Visit, failure: Failure, suspensionReason: string) => Promise<string>,
): void {
  const leave = ({ ctx, id }: Submission, done: Done) => goTo(ctx, `${accountPath(id)}?done=${done}`);

  const suspend = async (visit: Submission) => {
    const reason = (visit.form.get('suspensionReason') ?? '').trim();
    const apply = async () => {
      if (reason === '' || reason.length > REASON_LENGTH) {
        const message = `must have 1 to ${REASON_LENGTH} characters`;
        throw invalidInput([{ pointer: '/suspensionReason', message }]);
      }
      await suspendAccount(store, visit.id, reason, operatorOf(visit));
      leave(visit, 'suspended');
    };
    await attempt(visit.ctx, apply, (failure) => accountPage(visit, failure, reason));
  };
  pages.post(`${ACCOUNT}/suspension`, suspend, { page: accountPath });

  const lift = async (visit: Submission) => {
    await liftSuspension(store, visit.id, operatorOf(visit));
    leave(visit, 'lifted');
  };
  pages.post(`${ACCOUNT}/lift`, lift, { page: accountPath });
}
