import type { Auth } from '../../auth/auth.ts';
import type { ForwardToAuth } from '../../auth/authRoutes.ts';
import type { Context } from '../../http/context.ts';
import { FORGOT, type Mails, RESET } from '../../mail/messages.ts';
import { type Again, assertNoFault, codeOf, refusalOf, withinLimits } from '../authRefusal.ts';
import { type Desk, goTo, readFields, SIGN_IN, sendPage } from '../pageRouter.ts';
import { deadLinkPage, forgotPage, resetPage } from '../pages/passwordPage.ts';
import { single } from '../query.ts';

interface Dependencies {
  forwardToAuth: ForwardToAuth;
  auth: Pick<Auth, 'isResetTokenValid'>;
  mails: Pick<Mails, 'delivers' | 'reaches'>;
}

const INVALID = ['INVALID_TOKEN', 'USER_NOT_FOUND'];

const sendDeadLink = (ctx: Context): void => sendPage(ctx, deadLinkPage(), 410);

/** A new password for who has forgotten the old one, by way of a link that is mailed. */
export function passwordPages(desk: Desk, { forwardToAuth, auth, mails }: Dependencies): void {
  desk.open('get', FORGOT, async (ctx) => sendPage(ctx, forgotPage({ mails })));

  // Says the same whether there is an account or not.
  desk.open('post', FORGOT, async (ctx) => {
    const email = (await readFields(ctx)).get('email') ?? '';
    if (!mails.reaches) return sendPage(ctx, forgotPage({ mails }));
    const again: Again = (status, failure) => sendPage(ctx, forgotPage({ mails, email, failure }), status);
    const step = async () => {
      const response = await forwardToAuth(ctx, 'request-password-reset', { body: { email } });
      assertNoFault(response, 'request-password-reset');
      if (!response.ok) return again(422, refusalOf(await codeOf(response)));
      sendPage(ctx, forgotPage({ mails, email, sent: true }));
    };
    await withinLimits(ctx, step, again);
  });

  desk.open('get', RESET, async (ctx) => {
    const token = single(ctx, 'token');
    if (!(await auth.isResetTokenValid(token))) return sendDeadLink(ctx);
    sendPage(ctx, resetPage({ token }));
  });

  desk.open('post', RESET, async (ctx) => {
    const form = await readFields(ctx);
    const [token, newPassword] = [form.get('token') ?? '', form.get('newPassword') ?? ''];
    const again: Again = (status, failure) => sendPage(ctx, resetPage({ token, failure }), status);
    const step = async () => {
      const response = await forwardToAuth(ctx, 'reset-password', { body: { token, newPassword } });
      assertNoFault(response, 'reset-password');
      if (response.ok) return goTo(ctx, `${SIGN_IN}?done=reset`);
      const code = await codeOf(response);
      if (INVALID.includes(code)) return sendDeadLink(ctx);
      await again(422, refusalOf(code));
    };
    await withinLimits(ctx, step, again);
  });
}
