import { timingSafeEqual } from 'node:crypto';
import type Router from '@koa/router';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import type { Env } from '../../schemas/env.ts';
import { ERRORS, ServiceError } from '../../schemas/errors.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { Sessions } from '../auth/sessions.ts';
import { readForm } from '../http/body.ts';
import type { Context, State } from '../http/context.ts';
import { isSameOrigin } from '../http/origin.ts';
import { sendProblem, toServiceError } from '../http/problem.ts';
import { type Failure, failureOf } from './components/alert.ts';
import { FORM_TOKEN } from './components/form.ts';
import { errorPage } from './pages/errorPage.ts';
import type { Viewer } from './viewer.ts';

const FORM_BYTES = 16_384;
export const HOME = '/dashboard';
export const SIGN_IN = '/dashboard/sign-in';

const CSP = 'Content-Security-Policy';
const policy = (formAction: string): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "img-src 'self' data:",
    `form-action ${formAction}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');

const HEADERS = {
  [CSP]: policy("'self'"),
  // With no-referrer browsers would send `Origin: null` with our own forms (Fetch standard, 3.2).
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
};

const FOREIGN = 'The form was sent by a page of another site.';
const OUTDATED = 'The form belongs to a session that has ended. Open the page again and send it from there.';

/** A request of somebody who is signed in. */
export interface Visit {
  ctx: Context;
  viewer: Viewer;
  /** The last part of the path, where the route has one. */
  id: string;
}

export interface Submission extends Visit {
  form: URLSearchParams;
}

interface FormOptions {
  /** The largest form, bytes. */
  formBytes?: number;
  /** The page that has the form, where no page has this address: who opens it, or loads it again, is led there. */
  page?(id: string): string;
}

export interface Desk {
  /** A page that anybody may see. */
  open(method: 'get' | 'post', path: string, handler: (ctx: Context) => Promise<void>): void;
  /** A page of who is signed in; everybody else is sent to sign in. */
  get(path: string, handler: (visit: Visit) => Promise<void>): void;
  /** A form of who is signed in, which has to carry the token of their session. */
  post(path: string, handler: (submission: Submission) => Promise<void>, options?: FormOptions): void;
  /** What no page took, by whatever method; called last. */
  rest(path: string): void;
}

interface Dependencies {
  sessions: Sessions;
  accounts: Accounts;
  rateLimit(ctx: Context): Promise<void>;
  env: Pick<Env, 'PUBLIC_URL'>;
  log: Logger;
}

export function sendPage(ctx: Context, page: string, status = 200): void {
  ctx.status = status;
  ctx.body = page;
  ctx.type = 'text/html; charset=utf-8';
}

/** 303: whatever was asked for, go on with GET. Only addresses that are known to us come here. */
export function goTo(ctx: Context, address: string): void {
  ctx.status = 303;
  ctx.redirect(address);
}

/** For a page whose form is answered with the way to another origin: some browsers hold that against the policy too. */
export const formsMayLeadTo = (ctx: Context, origin: string): void =>
  ctx.set(CSP, policy(`'self' ${origin}`));

export const readFields = (ctx: Context, formBytes = FORM_BYTES): Promise<URLSearchParams> =>
  readForm(ctx.req, formBytes);

/** Does what a form asks for. What is refused stands on the page that has the form, with its status. */
export async function attempt(
  ctx: Context,
  action: () => Promise<void>,
  again: (failure: Failure) => string | Promise<string>,
): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'not_found' || error.code === 'internal')
      throw error;
    const page = await again(failureOf(error));
    sendProblem(ctx, error, ctx.state.requestId);
    sendPage(ctx, page, ERRORS[error.code].status);
  }
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** What all pages share: their headers, who may see them, and how they fail. */
export function createDesk(router: Router<State>, deps: Dependencies): Desk {
  const { sessions, accounts, rateLimit, env, log } = deps;

  const refuse = (ctx: Context, message: string) => {
    const { requestId } = ctx.state;
    sendPage(ctx, errorPage({ title: 'Refused', failure: { message, faults: [] }, requestId }), 403);
  };

  const page: Middleware<State> = async (ctx, next) => {
    const { requestId } = ctx.state;
    ctx.set(HEADERS);
    if (ctx.method === 'POST' && !isSameOrigin(ctx, env.PUBLIC_URL)) return refuse(ctx, FOREIGN);
    try {
      await next();
    } catch (error) {
      const known = toServiceError(error, log, requestId);
      sendProblem(ctx, known, requestId);
      const { title } = ERRORS[known.code];
      sendPage(ctx, errorPage({ title, failure: failureOf(known), requestId }), ctx.status);
    }
  };

  async function viewerOf(ctx: Context): Promise<Viewer | null> {
    const found = await sessions.signedIn(ctx);
    if (found === null) return null;
    const account = await accounts.find(found.user.accountId);
    if (account === null) throw new Error(`user ${found.user.id} has no account`);
    ctx.state.caller = { account, key: null };
    await rateLimit(ctx);
    return { ...found, account };
  }

  return {
    open: (method, path, handler) => router[method](path, page, handler),

    rest: (path) =>
      router.all(path, page, () => {
        throw new ServiceError('not_found');
      }),

    get: (path, handler) =>
      router.get(path, page, async (ctx) => {
        const viewer = await viewerOf(ctx);
        if (viewer === null) return goTo(ctx, SIGN_IN);
        await handler({ ctx, viewer, id: ctx.params.id ?? '' });
      }),

    post: (path, handler, options = {}) => {
      router.post(path, page, async (ctx) => {
        const viewer = await viewerOf(ctx);
        if (viewer === null) return goTo(ctx, SIGN_IN);
        const form = await readFields(ctx, options.formBytes);
        if (!isSame(form.get(FORM_TOKEN) ?? '', viewer.formToken)) return refuse(ctx, OUTDATED);
        await handler({ ctx, viewer, id: ctx.params.id ?? '', form });
      });
      const formPage = options.page;
      if (formPage !== undefined)
        router.get(path, page, async (ctx) => goTo(ctx, formPage(ctx.params.id ?? '') + ctx.search));
    },
  };
}
