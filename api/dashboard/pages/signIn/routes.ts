import { isRecord } from '../../../../schemas/isRecord.ts';
import { passkeySite } from '../../../auth/passkeyPlugin.ts';
import type { Context } from '../../../http/context.ts';
import {
  assertNoFault,
  codeOf,
  failureOf,
  refusalOf,
  type ShowForm,
  withinLimits,
} from '../../frame/authRefusal.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { goTo, HOME, readFields, SIGN_IN, type Submission, sendPage } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import { passkeyRoutes } from './passkeyRoutes.ts';
import { passwordRoutes } from './password/routes.ts';
import { verificationRoutes } from './verification/routes.ts';
import { checkMailPage } from './verification/view.ts';
import { SIGN_IN_CODE, type SignInNews, signInCodePage, signInPage, signUpPage } from './view.ts';

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
export function signInRoutes(dashboard: Dashboard): void {
  const { pages, core, forwardToAuth, sessions, mails } = dashboard;
  const { env } = core;
  const hasPasskeys = passkeySite(env.PUBLIC_URL) !== null;
  if (hasPasskeys) passkeyRoutes(dashboard);
  verificationRoutes(dashboard);
  passwordRoutes(dashboard);

  const isSignedIn = async (ctx: Context) => (await sessions.user(ctx)) !== null;

  pages.public('get', SIGN_IN, async (ctx) => {
    if (await isSignedIn(ctx)) return goTo(ctx, HOME);
    sendPage(ctx, signInPage({ again: null, news: newsOf(ctx), hasPasskeys }));
  });

  pages.public('post', SIGN_IN, async (ctx) => {
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

  pages.public('get', SIGN_IN_CODE, async (ctx) => {
    if (await isSignedIn(ctx)) return goTo(ctx, HOME);
    sendPage(ctx, signInCodePage(null));
  });

  pages.public('post', SIGN_IN_CODE, async (ctx) => {
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
  const signUp = {
    freeCredits: env.FREE_CREDITS,
    verifies: mails.delivers,
    hasTerms: env.TERMS_OF_SERVICE !== null,
  };

  pages.public('get', SIGN_UP, async (ctx) => {
    if (await isSignedIn(ctx)) return goTo(ctx, HOME);
    sendPage(ctx, signUpPage({ ...signUp, again: null }));
  });

  pages.public('post', SIGN_UP, async (ctx) => {
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
  pages.post('/dashboard/sign-out', signOut, { page: () => HOME });
}
