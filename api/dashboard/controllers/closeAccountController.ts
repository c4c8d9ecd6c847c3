import type { Actor } from '../../../store/accounts/securityLog.ts';
import { actorOf } from '../../auth/actor.ts';
import type { ConfirmPassword } from '../../auth/confirmPassword.ts';
import type { Mails } from '../../mail/messages.ts';
import type { Webhooks } from '../../webhooks/webhookService.ts';
import { failureOf, refusalOf, type ShowForm, withinLimits } from '../authRefusal.ts';
import { type PageRouter, type Submission, sendPage } from '../pageRouter.ts';
import { closeAccountPage, closedPage } from '../pages/closeAccountPage.ts';
import { CLOSE_PATH } from '../settingsPaths.ts';

interface Dependencies {
  confirmPassword: ConfirmPassword;
  /** Closes an account. @returns the ids of its webhook endpoints, which were deleted */
  closeAccount(account: { accountId: string; email: string; actor: Actor }): Promise<string[]>;
  webhooks: Pick<Webhooks, 'wakeDeleted'>;
  mails: Pick<Mails, 'accountClosed'>;
}

/** Registers the pages that close an account. */
export function closeAccountPages(pageRouter: PageRouter, deps: Dependencies): void {
  const { confirmPassword, closeAccount, webhooks, mails } = deps;

  pageRouter.get(CLOSE_PATH, async ({ ctx, viewer }) => sendPage(ctx, closeAccountPage({ viewer })));

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
      const endpointIds = await closeAccount({ accountId, email, actor: actorOf(ctx) });
      mails.accountClosed(email);
      await webhooks.wakeDeleted(endpointIds);
      sendPage(ctx, closedPage(email));
    };
    await withinLimits(ctx, step, showForm);
  };
  pageRouter.post(CLOSE_PATH, close);
}
