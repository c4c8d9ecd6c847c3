import { readFileSync } from 'node:fs';
import type Router from '@koa/router';
import type { Middleware } from 'koa';
import type { Env } from '../../schemas/env.ts';
import { ERRORS, ServiceError } from '../../schemas/errors.ts';
import type { Accounts } from '../../store/accounts.ts';
import { readForm } from '../body.ts';
import type { Context, State } from '../context.ts';
import { errorPage } from '../dashboard/errorPage.ts';
import { overviewPage } from '../dashboard/overview.ts';
import { signInPage } from '../dashboard/signIn.ts';
import { createDocument, sendDocument } from '../document.ts';
import { isSameOrigin } from '../middleware/origin.ts';
import { sendProblem } from '../middleware/problem.ts';
import type { Sessions } from '../middleware/session.ts';
import { accountRow } from './account/rows.ts';
import type { AskAuth } from './auth.ts';

const FORM_BYTES = 16_384;
const HOME = '/dashboard';
const SIGN_IN = '/dashboard/sign-in';

const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self' data:",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  // With no-referrer browsers would send `Origin: null` with our own forms (Fetch standard, 3.2).
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

const FOREIGN = { title: 'Refused', detail: 'The form was sent by a page of another site.' };

/** How better-auth answers what is no e-mail, and a wrong password. */
const WRONG = [400, 401];

interface Dependencies {
  askAuth: AskAuth;
  sessions: Sessions;
  accounts: Accounts;
  env: Pick<Env, 'PUBLIC_URL' | 'TEMPORAL_UI_URL'>;
}

function sendPage(ctx: Context, status: number, page: string): void {
  ctx.status = status;
  ctx.body = page;
  ctx.type = 'text/html; charset=utf-8';
}

/** 303: whatever was asked for, go on with GET. */
function goTo(ctx: Context, path: string): void {
  ctx.status = 303;
  ctx.redirect(path);
}

const minutes = (seconds: number): string => {
  const count = Math.ceil(seconds / 60);
  return count === 1 ? 'a minute' : `${count} minutes`;
};

/** The pages for people: sign-in, sign-out, and an overview of the account. They need no JavaScript. */
export function dashboardRoutes(
  router: Router<State>,
  { askAuth, sessions, accounts, env }: Dependencies,
): void {
  const page: Middleware<State> = async (ctx, next) => {
    const { requestId } = ctx.state;
    ctx.set(HEADERS);
    if (ctx.method === 'POST' && !isSameOrigin(ctx, env.PUBLIC_URL))
      return sendPage(ctx, 403, errorPage({ ...FOREIGN, requestId }));
    try {
      await next();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      sendProblem(ctx, error, requestId);
      const { title } = ERRORS[error.code];
      sendPage(ctx, ctx.status, errorPage({ title, detail: error.detail, requestId }));
    }
  };

  const style = createDocument(
    'text/css; charset=utf-8',
    readFileSync(new URL('../dashboard/style.css', import.meta.url)),
  );
  router.get('/dashboard/style.css', (ctx: Context) => sendDocument(ctx, style));

  router.get(HOME, page, async (ctx) => {
    const user = await sessions.user(ctx);
    if (user === null) return goTo(ctx, SIGN_IN);
    const account = await accounts.find(user.accountId);
    if (account === null) throw new Error(`user ${user.id} has no account`);
    const temporalUiUrl = env.TEMPORAL_UI_URL;
    sendPage(ctx, 200, overviewPage({ user, account: accountRow(account), temporalUiUrl }));
  });

  router.get(SIGN_IN, page, async (ctx) => {
    if ((await sessions.user(ctx)) !== null) return goTo(ctx, HOME);
    sendPage(ctx, 200, signInPage(null));
  });

  router.post(SIGN_IN, page, async (ctx) => {
    const form = await readForm(ctx.req, FORM_BYTES);
    const [email, password] = [form.get('email') ?? '', form.get('password') ?? ''];
    const again = (status: number, message: string) => sendPage(ctx, status, signInPage({ message, email }));
    try {
      const response = await askAuth(ctx, 'sign-in/email', { body: { email, password } });
      if (WRONG.includes(response.status)) return again(401, 'The e-mail or the password is wrong.');
      if (!response.ok) throw new Error(`sign-in was answered ${response.status}`);
      ctx.append('Set-Cookie', response.headers.getSetCookie());
      goTo(ctx, HOME);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'rate_limited') throw error;
      const seconds = error.retryAfter ?? 1;
      ctx.set('Retry-After', String(seconds));
      again(429, `Too many attempts. Try again in ${minutes(seconds)}.`);
    }
  });

  router.post('/dashboard/sign-out', page, async (ctx) => {
    const response = await askAuth(ctx, 'sign-out', { body: null });
    if (!response.ok) throw new Error(`sign-out was answered ${response.status}`);
    ctx.append('Set-Cookie', response.headers.getSetCookie());
    goTo(ctx, SIGN_IN);
  });
}
