import type { Context } from '../../../../http/context.ts';
import { FORGOT, RESET } from '../../../../mail/messages.ts';
import { assertNoFault, codeOf, refusalOf, type ShowForm, withinLimits } from '../../../frame/authRefusal.ts';
import type { Dashboard } from '../../../frame/dashboard.ts';
import { goTo, readFields, SIGN_IN, sendPage } from '../../../frame/pageRouter.ts';
import { single } from '../../../frame/query.ts';
import { deadLinkPage, forgotPage, resetPage } from './view.ts';

const INVALID = ['INVALID_TOKEN', 'USER_NOT_FOUND'];

const sendDeadLink = (ctx: Context): void => sendPage(ctx, deadLinkPage(), 410);

/** Registers the pages that reset a forgotten password by a mailed link. */
export function passwordRoutes({ pages, core, forwardToAuth, auth, mails }: Dashboard): void {
  const { pageLimit } = core.limits;
  pages.public('get', FORGOT, async (ctx) => sendPage(ctx, forgotPage({ mails })));

  // The response does not reveal whether the address is registered.
  pages.public('post', FORGOT, async (ctx) => {
    const email = (await readFields(ctx)).get('email') ?? '';
    if (!mails.reaches) return sendPage(ctx, forgotPage({ mails }));
    const showForm: ShowForm = (status, failure) =>
      sendPage(ctx, forgotPage({ mails, email, failure }), status);
    const step = async () => {
      const response = await forwardToAuth(ctx, 'request-password-reset', { body: { email } });
      assertNoFault(response, 'request-password-reset');
      if (!response.ok) return showForm(422, refusalOf(await codeOf(response)));
      sendPage(ctx, forgotPage({ mails, email, sent: true }));
    };
    await withinLimits(ctx, step, showForm);
  });

  pages.public('get', RESET, async (ctx) => {
    const token = single(ctx, 'token');
    if (!(await auth.isResetTokenValid(token))) return sendDeadLink(ctx);
    sendPage(ctx, resetPage({ token }));
  });

  pages.public('post', RESET, async (ctx) => {
    const form = await readFields(ctx);
    const [token, newPassword] = [form.get('token') ?? '', form.get('newPassword') ?? ''];
    const showForm: ShowForm = (status, failure) => sendPage(ctx, resetPage({ token, failure }), status);
    const step = async () => {
      using _slot = await pageLimit.acquire(ctx.ip);
      const response = await forwardToAuth(ctx, 'reset-password', { body: { token, newPassword } });
      assertNoFault(response, 'reset-password');
      if (response.ok) return goTo(ctx, `${SIGN_IN}?done=reset`);
      const code = await codeOf(response);
      if (INVALID.includes(code)) return sendDeadLink(ctx);
      await showForm(422, refusalOf(code));
    };
    await withinLimits(ctx, step, showForm);
  });
}
