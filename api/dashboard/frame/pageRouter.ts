import { timingSafeEqual } from 'node:crypto';
import type Router from '@koa/router';
import type { Middleware } from 'koa';
import { ERRORS, ServiceError } from '../../../schemas/errors.ts';
import type { Broadcasts } from '../../../store/accounts/broadcast.ts';
import type { Sessions } from '../../auth/sessions.ts';
import type { ApiCore } from '../../core.ts';
import { readForm } from '../../http/body.ts';
import type { Context, State } from '../../http/context.ts';
import { isSameOrigin } from '../../http/origin.ts';
import { sendProblem, toServiceError } from '../../http/problem.ts';
import { type Failure, failureOf } from '../components/alert.ts';
import { FORM_TOKEN } from '../components/form.ts';
import { isDismissed } from './dismissal.ts';
import { errorPage } from './errorPage.ts';
import { rememberPage } from './returnPage.ts';
import { readUpload, type UploadForm } from './uploadForm.ts';
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
    "connect-src 'self'",
    `form-action ${formAction}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');

const HEADERS = {
  [CSP]: policy("'self'"),
  // With `no-referrer`, browsers would send `Origin: null` with the dashboard's own forms (Fetch standard, 3.2).
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
};

const CROSS_SITE =
  'This form was submitted from another site. Open the page in the dashboard and submit it there.';
const OUTDATED = 'This form belongs to a session that has ended. Open the page again and resubmit the form.';

/** A request of a signed-in user. */
export interface Visit {
  ctx: Context;
  viewer: Viewer;
  /** The `:id` of the path; empty if the route has none. */
  id: string;
}

export interface Submission extends Visit {
  form: URLSearchParams;
}

/** A submitted form with a file, whose content arrives while it is handled. */
export interface Upload extends Submission, Pick<UploadForm, 'file'> {}

interface FormOptions {
  /** Maximum size of the form in bytes. */
  formBytes?: number;
  /** Path of the page with the form. GET requests to the form's own path, such as a reload, are redirected there. */
  page?(id: string): string;
}

interface PageOptions {
  /** Whether visitors who are not signed in come back to the page after they have signed in (`takePage`). */
  returnsAfterSignIn?: boolean;
}

/** Registers pages with shared headers, access checks and error pages. */
export interface PageRouter {
  /**
   * Registers a page that needs no session. GET requests wait for one of the slots for requests without a session. Forms
   * that read MongoDB before another limit take a slot themselves, once their body has been received.
   */
  public(method: 'get' | 'post', path: string, handler: (ctx: Context) => Promise<void>): void;
  /** Registers a page for signed-in users; other visitors are redirected to the sign-in page. */
  get(path: string, handler: (visit: Visit) => Promise<void>, options?: PageOptions): void;
  /** Registers a form for signed-in users; it must contain the form token of their session. */
  post(path: string, handler: (submission: Submission) => Promise<void>, options?: FormOptions): void;
  /**
   * Registers a form with a file (`multipart/form-data`), whose fields come before the file.
   *
   * @param page path of the page with the form
   */
  upload(path: string, handler: (upload: Upload) => Promise<void>, page: string): void;
  /** Registers the 404 page for all other paths and methods. Must be called last. */
  notFound(path: string): void;
}

interface Services {
  sessions: Sessions;
  broadcasts: Pick<Broadcasts, 'current'>;
}

export function sendPage(ctx: Context, page: string, status = 200): void {
  ctx.status = status;
  ctx.body = page;
  ctx.type = 'text/html; charset=utf-8';
}

/** Redirects with 303, which makes the browser use GET. @param address never from user input */
export function goTo(ctx: Context, address: string): void {
  ctx.status = 303;
  ctx.redirect(address);
}

/** Permits a redirect to another origin after a form: some browsers apply `form-action` to redirects as well. */
export const formsMayLeadTo = (ctx: Context, origin: string): void =>
  ctx.set(CSP, policy(`'self' ${origin}`));

export const readFields = (ctx: Context, formBytes = FORM_BYTES): Promise<URLSearchParams> =>
  readForm(ctx, formBytes);

/** Runs the action of a form. A refusal is shown on the page of the form, with the status of the error. */
export async function attempt(
  ctx: Context,
  action: () => Promise<void>,
  render: (failure: Failure) => string | Promise<string>,
): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'not_found' || error.code === 'internal')
      throw error;
    const page = await render(failureOf(error));
    sendProblem(ctx, error, ctx.state.requestId);
    sendPage(ctx, page, ERRORS[error.code].status);
  }
}

/** Compares in constant time. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export function createPageRouter(
  router: Router<State>,
  { env, log, accounts, limits }: ApiCore,
  { sessions, broadcasts }: Services,
): PageRouter {
  const { rateLimit, pageLimit } = limits;

  const refuse = (ctx: Context, message: string) => {
    const { requestId } = ctx.state;
    sendPage(ctx, errorPage({ title: 'Refused', failure: { message, faults: [] }, requestId }), 403);
  };

  const page: Middleware<State> = async (ctx, next) => {
    const { requestId } = ctx.state;
    ctx.set(HEADERS);
    if (ctx.method === 'POST' && !isSameOrigin(ctx, env.PUBLIC_URL)) return refuse(ctx, CROSS_SITE);
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
    const broadcast = await broadcasts.current();
    return { ...found, account, broadcast: isDismissed(ctx, broadcast) ? null : broadcast };
  }

  return {
    public: (method, path, handler) =>
      router[method](path, page, async (ctx) => {
        await pageLimit.count(ctx.ip);
        if (method === 'post') return handler(ctx);
        using _slot = await pageLimit.acquire(ctx.ip);
        await handler(ctx);
      }),

    notFound: (path) =>
      router.all(path, page, () => {
        throw new ServiceError('not_found');
      }),

    get: (path, handler, { returnsAfterSignIn = false } = {}) =>
      router.get(path, page, async (ctx) => {
        const viewer = await viewerOf(ctx);
        if (viewer === null) {
          if (returnsAfterSignIn) rememberPage(ctx);
          return goTo(ctx, SIGN_IN);
        }
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

    upload: (path, handler, formPage) => {
      router.post(path, page, async (ctx) => {
        const viewer = await viewerOf(ctx);
        if (viewer === null) return goTo(ctx, SIGN_IN);
        await readUpload(ctx, async ({ fields: form, file }) => {
          if (!isSame(form.get(FORM_TOKEN) ?? '', viewer.formToken)) return refuse(ctx, OUTDATED);
          await handler({ ctx, viewer, id: ctx.params.id ?? '', form, file });
        });
      });
      router.get(path, page, async (ctx) => goTo(ctx, formPage + ctx.search));
    },
  };
}
