import { VERIFY } from '../../../../mail/messages.ts';
import {
  assertNoFault,
  codeOf,
  failureOf,
  refusalOf,
  type ShowForm,
  withinLimits,
} from '../../../frame/authRefusal.ts';
import type { Dashboard } from '../../../frame/dashboard.ts';
import { goTo, HOME, readFields, SIGN_IN, sendPage } from '../../../frame/pageRouter.ts';
import { single } from '../../../frame/query.ts';
import { checkMailPage } from './view.ts';

/** Registers the pages that verify an email address and resend the mail; only if mail is configured. */
export function verificationRoutes({ pages, forwardToAuth, sessions, mails }: Dashboard): void {
  if (!mails.delivers) return;

  // A repeated request succeeds too, because mail scanners follow links before users do.
  pages.public('get', VERIFY, async (ctx) => {
    const token = single(ctx, 'token');
    if (token === '') return sendPage(ctx, checkMailPage({ email: '' }));
    const search = `?${new URLSearchParams({ token })}`;
    const response = await forwardToAuth(ctx, 'verify-email', { search, body: null });
    assertNoFault(response, 'verify-email');
    if (response.ok) return goTo(ctx, `${SIGN_IN}?done=verified`);
    const failure = failureOf(
      'This link has expired or is incomplete. Request a new email to get a new link.',
    );
    sendPage(ctx, checkMailPage({ email: '', failure }), 410);
  });

  pages.public('post', VERIFY, async (ctx) => {
    if ((await sessions.user(ctx)) !== null) return goTo(ctx, HOME);
    const email = (await readFields(ctx)).get('email') ?? '';
    const showForm: ShowForm = (status, failure) => sendPage(ctx, checkMailPage({ email, failure }), status);
    const step = async () => {
      const response = await forwardToAuth(ctx, 'send-verification-email', { body: { email } });
      assertNoFault(response, 'send-verification-email');
      if (!response.ok) return showForm(422, refusalOf(await codeOf(response)));
      sendPage(ctx, checkMailPage({ email, sent: 'again' }));
    };
    await withinLimits(ctx, step, showForm);
  });
}
