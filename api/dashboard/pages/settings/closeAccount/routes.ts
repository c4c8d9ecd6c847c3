import { closeAccount } from '../../../../../store/accounts/closeAccount.ts';
import { actorOf } from '../../../../auth/actor.ts';
import { failureOf, refusalOf, type ShowForm, withinLimits } from '../../../frame/authRefusal.ts';
import type { Dashboard } from '../../../frame/dashboard.ts';
import { type Submission, sendPage } from '../../../frame/pageRouter.ts';
import { CLOSE_PATH } from '../paths.ts';
import { closeAccountPage, closedPage } from './view.ts';

export function closeAccountRoutes({
  pages,
  core: { store },
  confirmPassword,
  webhooks,
  mails,
}: Dashboard): void {
  pages.get(CLOSE_PATH, async ({ ctx, viewer }) => sendPage(ctx, closeAccountPage({ viewer })));

  const close = async ({ ctx, viewer, form }: Submission) => {
    const { account, user } = viewer;
    const showForm: ShowForm = (status, failure) =>
      sendPage(ctx, closeAccountPage({ viewer, failure }), status);
    const step = async () => {
      if ((form.get('email') ?? '').trim().toLowerCase() !== user.email)
        return showForm(422, failureOf('This is not the email address with which you sign in.'));
      if (!(await confirmPassword(ctx, user, form.get('password') ?? '')))
        return showForm(422, refusalOf('INVALID_PASSWORD'));
      const { _id: accountId, email } = account;
      const endpointIds = await closeAccount(store, { accountId, email, actor: actorOf(ctx) });
      mails.accountClosed(email);
      await webhooks.wakeDeleted(endpointIds);
      sendPage(ctx, closedPage(email));
    };
    await withinLimits(ctx, step, showForm);
  };
  pages.post(CLOSE_PATH, close);
}
