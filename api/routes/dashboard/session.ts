import type { Env } from '../../../schemas/env.ts';
import { ServiceError } from '../../../schemas/errors.ts';
import type { Context } from '../../context.ts';
import { settingsPage } from '../../dashboard/pages/settings.ts';
import { signInPage, signUpPage } from '../../dashboard/pages/signIn.ts';
import { isRecord } from '../../isRecord.ts';
import type { Sessions } from '../../middleware/session.ts';
import type { AskAuth } from '../auth.ts';
import { type Desk, goTo, HOME, readFields, SIGN_IN, sendPage } from './desk.ts';

interface Dependencies {
  askAuth: AskAuth;
  sessions: Sessions;
  env: Pick<Env, 'FREE_CREDITS'>;
}

type Again = (status: number, message: string) => void;

/** How better-auth answers what is no e-mail, and a wrong password. */
const WRONG = [400, 401];

/** What better-auth's refusals mean to who fills in a form. */
const REFUSALS: Record<string, string> = {
  INVALID_EMAIL: 'That is not an e-mail address.',
  // The e-mail is the one field that it checks for more than being a text.
  VALIDATION_ERROR: 'That is not an e-mail address.',
  PASSWORD_TOO_SHORT: 'The password is too short.',
  PASSWORD_TOO_LONG: 'The password is too long.',
  INVALID_PASSWORD: 'The current password is wrong.',
  USER_ALREADY_EXISTS: 'There is an account for this e-mail. Sign in instead.',
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: 'There is an account for this e-mail. Sign in instead.',
};

const minutes = (seconds: number): string => {
  const count = Math.ceil(seconds / 60);
  return count === 1 ? 'a minute' : `${count} minutes`;
};

async function refusalOf(response: Response): Promise<string> {
  const body: unknown = await response.json();
  const code = isRecord(body) && typeof body.code === 'string' ? body.code : '';
  return REFUSALS[code] ?? 'Please look at what you entered again.';
}

/** Who tries too often is told on the form itself. */
async function withinLimits(ctx: Context, step: () => Promise<void>, again: Again): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'rate_limited') throw error;
    const seconds = error.retryAfter ?? 1;
    ctx.set('Retry-After', String(seconds));
    again(429, `Too many attempts. Try again in ${minutes(seconds)}.`);
  }
}

const failureOf = (message: string) => ({ message, faults: [] });

/** Sign-up, sign-in, sign-out, and the change of a password. */
export function sessionPages(desk: Desk, { askAuth, sessions, env }: Dependencies): void {
  const isSignedIn = async (ctx: Context) => (await sessions.user(ctx)) !== null;

  /** Takes over what better-auth says to the browser. */
  function keep(ctx: Context, response: Response): void {
    ctx.append('Set-Cookie', response.headers.getSetCookie());
  }

  desk.open('get', SIGN_IN, async (ctx) => {
    if (await isSignedIn(ctx)) return goTo(ctx, HOME);
    sendPage(ctx, signInPage(null));
  });

  desk.open('post', SIGN_IN, async (ctx) => {
    const form = await readFields(ctx);
    const [email, password] = [form.get('email') ?? '', form.get('password') ?? ''];
    const again: Again = (status, message) =>
      sendPage(ctx, signInPage({ failure: failureOf(message), email }), status);
    const step = async () => {
      const response = await askAuth(ctx, 'sign-in/email', { body: { email, password } });
      if (WRONG.includes(response.status)) return again(401, 'The e-mail or the password is wrong.');
      if (!response.ok) throw new Error(`sign-in was answered ${response.status}`);
      keep(ctx, response);
      goTo(ctx, HOME);
    };
    await withinLimits(ctx, step, again);
  });

  const SIGN_UP = '/dashboard/sign-up';

  desk.open('get', SIGN_UP, async (ctx) => {
    if (await isSignedIn(ctx)) return goTo(ctx, HOME);
    sendPage(ctx, signUpPage(env.FREE_CREDITS, null));
  });

  desk.open('post', SIGN_UP, async (ctx) => {
    const form = await readFields(ctx);
    const [email, password] = [form.get('email') ?? '', form.get('password') ?? ''];
    const again: Again = (status, message) =>
      sendPage(ctx, signUpPage(env.FREE_CREDITS, { failure: failureOf(message), email }), status);
    const step = async () => {
      const response = await askAuth(ctx, 'sign-up/email', { body: { name: email, email, password } });
      if (response.status >= 500) throw new Error(`sign-up was answered ${response.status}`);
      if (!response.ok) return again(422, await refusalOf(response));
      keep(ctx, response);
      goTo(ctx, HOME);
    };
    await withinLimits(ctx, step, again);
  });

  desk.post('/dashboard/sign-out', async ({ ctx }) => {
    const response = await askAuth(ctx, 'sign-out', { body: null });
    if (!response.ok) throw new Error(`sign-out was answered ${response.status}`);
    keep(ctx, response);
    goTo(ctx, SIGN_IN);
  });

  const SETTINGS = '/dashboard/settings';

  desk.get(SETTINGS, async ({ ctx, viewer }) =>
    sendPage(ctx, settingsPage({ viewer, changed: ctx.query.changed === 'password' })),
  );

  desk.post(`${SETTINGS}/password`, async ({ ctx, viewer, form }) => {
    const again: Again = (status, message) =>
      sendPage(ctx, settingsPage({ viewer, failure: failureOf(message) }), status);
    const step = async () => {
      const [currentPassword, newPassword] = [form.get('currentPassword'), form.get('newPassword')];
      const body = { currentPassword, newPassword, revokeOtherSessions: true };
      const response = await askAuth(ctx, 'change-password', { body });
      if (response.status >= 500) throw new Error(`change-password was answered ${response.status}`);
      if (!response.ok) return again(422, await refusalOf(response));
      keep(ctx, response);
      goTo(ctx, `${SETTINGS}?changed=password`);
    };
    await withinLimits(ctx, step, again);
  });
}
