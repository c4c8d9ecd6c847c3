import type { ForwardToAuth } from '../../auth/authRoutes.ts';
import type { Sessions } from '../../auth/sessions.ts';
import { type Mails, VERIFY } from '../../mail/messages.ts';
import { type Again, assertNoFault, codeOf, failureOf, refusalOf, withinLimits } from '../authRefusal.ts';
import { type Desk, goTo, HOME, readFields, SIGN_IN, sendPage } from '../pageRouter.ts';
import { checkMailPage } from '../pages/verificationPage.ts';
import { single } from '../query.ts';

interface Dependencies {
  forwardToAuth: ForwardToAuth;
  sessions: Pick<Sessions, 'user'>;
  mails: Pick<Mails, 'delivers'>;
}

/** Where the link of a mail verifies an address, and where another mail can be had; only where mail goes out. */
export function verificationPages(desk: Desk, { forwardToAuth, sessions, mails }: Dependencies): void {
  if (!mails.delivers) return;

  // A link that was followed already leads to the same place: mail scanners follow links before people do.
  desk.open('get', VERIFY, async (ctx) => {
    const token = single(ctx, 'token');
    if (token === '') return sendPage(ctx, checkMailPage({ email: '' }));
    const search = `?${new URLSearchParams({ token })}`;
    const response = await forwardToAuth(ctx, 'verify-email', { search, body: null });
    assertNoFault(response, 'verify-email');
    if (response.ok) return goTo(ctx, `${SIGN_IN}?done=verified`);
    const failure = failureOf('This link has expired, or a part of it is missing.');
    sendPage(ctx, checkMailPage({ email: '', failure }), 410);
  });

  desk.open('post', VERIFY, async (ctx) => {
    if ((await sessions.user(ctx)) !== null) return goTo(ctx, HOME);
    const email = (await readFields(ctx)).get('email') ?? '';
    const again: Again = (status, failure) => sendPage(ctx, checkMailPage({ email, failure }), status);
    const step = async () => {
      const response = await forwardToAuth(ctx, 'send-verification-email', { body: { email } });
      assertNoFault(response, 'send-verification-email');
      if (!response.ok) return again(422, refusalOf(await codeOf(response)));
      sendPage(ctx, checkMailPage({ email, sent: 'again' }));
    };
    await withinLimits(ctx, step, again);
  });
}
