import type { Env } from '../../../schemas/env.ts';
import type { ForwardToAuth } from '../../auth/authRoutes.ts';
import type { Sessions } from '../../auth/sessions.ts';
import type { Context } from '../../http/context.ts';
import type { Mails } from '../../mail/messages.ts';
import { assertNoFault, codeOf, failureOf, refusalOf, type ShowForm, withinLimits } from '../authRefusal.ts';
import {
  goTo,
  HOME,
  type PageRouter,
  readFields,
  SIGN_IN,
  type Submission,
  sendPage,
} from '../pageRouter.ts';
import { type SignInNews, signInPage, signUpPage } from '../pages/signInPage.ts';
import { checkMailPage } from '../pages/verificationPage.ts';
import { single } from '../query.ts';

interface Dependencies {
  forwardToAuth: ForwardToAuth;
  sessions: Sessions;
  mails: Pick<Mails, 'delivers'>;
  env: Pick<Env, 'FREE_CREDITS'>;
}

/** better-auth's statuses for an invalid email address and for wrong credentials. */
const WRONG = [400, 401];
/** better-auth reports this only if the password is correct. */
const UNVERIFIED = { status: 403, code: 'EMAIL_NOT_VERIFIED' };

const newsOf = (ctx: Context): SignInNews | null =>
  (['verified', 'reset'] as const).find((news) => news === single(ctx, 'done')) ?? null;

/** Copies the cookies of better-auth's response. */
const keepCookies = (ctx: Context, response: Response): void =>
  ctx.append('Set-Cookie', response.headers.getSetCookie());

/** Registers sign-up, sign-in and sign-out. */
export function sessionPages(
  pageRouter: PageRouter,
  { forwardToAuth, sessions, mails, env }: Dependencies,
): void {
  const isSignedIn = async (ctx: Context) => (await sessions.user(ctx)) !== null;

  pageRouter.public('get', SIGN_IN, async (ctx) => {
    if (await isSignedIn(ctx)) return goTo(ctx, HOME);
    sendPage(ctx, signInPage({ again: null, news: newsOf(ctx) }));
  });

  pageRouter.public('post', SIGN_IN, async (ctx) => {
    const form = await readFields(ctx);
    const [email, password] = [form.get('email') ?? '', form.get('password') ?? ''];
    const showForm: ShowForm = (status, failure) =>
      sendPage(ctx, signInPage({ again: { failure, email }, news: null }), status);
    const step = async () => {
      const response = await forwardToAuth(ctx, 'sign-in/email', { body: { email, password } });
      if (WRONG.includes(response.status))
        return showForm(401, failureOf('The email address or password is wrong.'));
      if (response.status === UNVERIFIED.status && (await codeOf(response)) === UNVERIFIED.code) {
        const failure = failureOf('Your email address is not verified yet.');
        return sendPage(ctx, checkMailPage({ email, failure }), UNVERIFIED.status);
      }
      if (!response.ok) throw new Error(`better-auth responded to sign-in with ${response.status}`);
      keepCookies(ctx, response);
      goTo(ctx, HOME);
    };
    await withinLimits(ctx, step, showForm);
  });

  const SIGN_UP = '/dashboard/sign-up';
  const signUp = { freeCredits: env.FREE_CREDITS, verifies: mails.delivers };

  pageRouter.public('get', SIGN_UP, async (ctx) => {
    if (await isSignedIn(ctx)) return goTo(ctx, HOME);
    sendPage(ctx, signUpPage({ ...signUp, again: null }));
  });

  pageRouter.public('post', SIGN_UP, async (ctx) => {
    const form = await readFields(ctx);
    const [email, password] = [form.get('email') ?? '', form.get('password') ?? ''];
    const showForm: ShowForm = (status, failure) =>
      sendPage(ctx, signUpPage({ ...signUp, again: { failure, email } }), status);
    const step = async () => {
      const response = await forwardToAuth(ctx, 'sign-up/email', { body: { name: email, email, password } });
      assertNoFault(response, 'sign-up');
      if (!response.ok) return showForm(422, refusalOf(await codeOf(response)));
      if (mails.delivers) return sendPage(ctx, checkMailPage({ email, sent: 'sign-up' }));
      keepCookies(ctx, response);
      goTo(ctx, HOME);
    };
    await withinLimits(ctx, step, showForm);
  });

  const signOut = async ({ ctx }: Submission) => {
    const response = await forwardToAuth(ctx, 'sign-out', { body: null });
    if (!response.ok) throw new Error(`better-auth responded to sign-out with ${response.status}`);
    keepCookies(ctx, response);
    goTo(ctx, SIGN_IN);
  };
  pageRouter.post('/dashboard/sign-out', signOut, { page: () => HOME });
}
