import type { Env } from '../../../schemas/env.ts';
import { isRecord } from '../../../schemas/isRecord.ts';
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
import {
  SIGN_IN_CODE,
  type SignInNews,
  signInCodePage,
  signInPage,
  signUpPage,
} from '../pages/signInPage.ts';
import { checkMailPage } from '../pages/verificationPage.ts';
import { single } from '../query.ts';

interface Dependencies {
  forwardToAuth: ForwardToAuth;
  sessions: Sessions;
  mails: Pick<Mails, 'delivers'>;
  env: Pick<Env, 'FREE_CREDITS'>;
  /** Whether users can sign in with passkeys. */
  hasPasskeys: boolean;
}

/** better-auth's statuses for an invalid email address and for wrong credentials. */
const WRONG = [400, 401];
/** Code of an authenticator app; backup codes have another format. */
const APP_CODE = /^\d{6}$/;
/** better-auth's codes for a second step that must start again with the password. */
const ENDED = ['INVALID_TWO_FACTOR_COOKIE', 'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE'];
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
  { forwardToAuth, sessions, mails, env, hasPasskeys }: Dependencies,
): void {
  const isSignedIn = async (ctx: Context) => (await sessions.user(ctx)) !== null;

  pageRouter.public('get', SIGN_IN, async (ctx) => {
    if (await isSignedIn(ctx)) return goTo(ctx, HOME);
    sendPage(ctx, signInPage({ again: null, news: newsOf(ctx), hasPasskeys }));
  });

  pageRouter.public('post', SIGN_IN, async (ctx) => {
    const form = await readFields(ctx);
    const [email, password] = [form.get('email') ?? '', form.get('password') ?? ''];
    const showForm: ShowForm = (status, failure) =>
      sendPage(ctx, signInPage({ again: { failure, email }, news: null, hasPasskeys }), status);
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
      const body: unknown = await response.json();
      goTo(ctx, isRecord(body) && body.twoFactorRedirect === true ? SIGN_IN_CODE : HOME);
    };
    await withinLimits(ctx, step, showForm);
  });

  pageRouter.public('get', SIGN_IN_CODE, async (ctx) => {
    if (await isSignedIn(ctx)) return goTo(ctx, HOME);
    sendPage(ctx, signInCodePage(null));
  });

  pageRouter.public('post', SIGN_IN_CODE, async (ctx) => {
    const code = ((await readFields(ctx)).get('code') ?? '').replaceAll(/\s/g, '');
    const showForm: ShowForm = (status, failure) => sendPage(ctx, signInCodePage(failure), status);
    const step = async () => {
      const factor = APP_CODE.test(code) ? 'verify-totp' : 'verify-backup-code';
      const response = await forwardToAuth(ctx, `two-factor/${factor}`, { body: { code } });
      assertNoFault(response, factor);
      keepCookies(ctx, response);
      if (response.ok) return goTo(ctx, HOME);
      const reason = await codeOf(response);
      if (!ENDED.includes(reason)) return showForm(response.status === 429 ? 429 : 401, refusalOf(reason));
      const failure = failureOf('This sign-in has expired or had too many wrong codes. Sign in again.');
      sendPage(ctx, signInPage({ again: { failure, email: '' }, news: null, hasPasskeys }), 401);
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
