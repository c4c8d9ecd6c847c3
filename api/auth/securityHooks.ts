import type { BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthMiddleware, getSessionFromCtx, isAPIError } from 'better-auth/api';
import type { SecurityKind } from '../../store/accounts/securityDocs.ts';
import type { Actor } from '../../store/accounts/securityLog.ts';
import { createActor } from './actor.ts';

/** Writes an event of a user to the security log. */
export type RecordForUser = (
  userId: string,
  kind: SecurityKind,
  actor: Actor,
  subject?: string,
) => Promise<void>;

/**
 * Header in which the client address is passed to better-auth. If the client sent a header of this name, it is
 * overwritten.
 */
export const ADDRESS_HEADER = 'x-client-address';

/** Returns the actor of a request to better-auth. */
export const actorOfHeaders = (headers: Headers | undefined): Actor =>
  createActor(headers?.get(ADDRESS_HEADER) ?? '', headers?.get('user-agent') ?? '', null);

/** Entry of the security log for a successful request to a path. */
const OF_SESSION: Readonly<Record<string, SecurityKind>> = {
  '/change-password': 'password_changed',
  '/update-user': 'name_changed',
  '/revoke-session': 'session_ended',
  '/revoke-sessions': 'sessions_ended',
  '/revoke-other-sessions': 'sessions_ended',
  '/two-factor/disable': 'two_factor_disabled',
  '/two-factor/generate-backup-codes': 'backup_codes_renewed',
};

const APP = '/two-factor/verify-totp';
/** Paths that check a second factor, and how the security log names it. */
const SECOND_FACTORS: Readonly<Record<string, string>> = {
  [APP]: 'with a code of the authenticator app',
  '/two-factor/verify-backup-code': 'with a backup code',
};
const WRONG_CODE = 'INVALID_CODE';
const WRONG: readonly unknown[] = [WRONG_CODE, 'INVALID_BACKUP_CODE'];

/** better-auth's name of the cookie that identifies a sign-in which waits for the second factor. */
const CHALLENGE_COOKIE = 'two_factor';

/** Paths that start a session in one step, with the text that the security log adds to the sign-in. */
const SIGN_INS: Readonly<Record<string, string>> = {
  '/sign-up/email': '',
  '/sign-in/email': '',
  '/passkey/verify-authentication': 'with a passkey',
};

const SIGN_OUT = '/sign-out';

interface Dependencies {
  record: RecordForUser;
  /** Returns the id of the user whose sign-in waits for the second factor. */
  findChallenge(identifier: string): Promise<string | null>;
  /** Records a code of an authenticator app. @returns false if it was used before */
  useCode(userId: string, code: string): Promise<boolean>;
  endSession(token: string): Promise<void>;
  /** Ends the least recently used sessions of a user who has too many. */
  endSurplusSessions(userId: string): Promise<void>;
  /** Ends all sessions of a user except this one. */
  endOtherSessions(userId: string, sessionId: string): Promise<void>;
}

/**
 * A plugin of better-auth that writes the security log. Its hooks run after those of the plugins before it.
 */
export const securityHooks = ({
  record,
  findChallenge,
  useCode,
  endSession,
  endSurplusSessions,
  endOtherSessions,
}: Dependencies): BetterAuthPlugin => ({
  id: 'security-log',
  hooks: {
    before: [
      {
        // After the sign-out it is unknown whose session it was.
        matcher: ({ path }) => path === SIGN_OUT,
        handler: createAuthMiddleware(async (ctx) => {
          const session = await getSessionFromCtx(ctx);
          if (session !== null) await record(session.user.id, 'signed_out', actorOfHeaders(ctx.headers));
        }),
      },
    ],
    after: [
      {
        matcher: ({ path }) => path !== undefined && Object.hasOwn(OF_SESSION, path),
        handler: createAuthMiddleware(async ({ path, headers, context: { returned, session } }) => {
          const kind = OF_SESSION[path];
          if (kind === undefined || session === null || isAPIError(returned)) return;
          await record(session.user.id, kind, actorOfHeaders(headers));
        }),
      },
      {
        matcher: ({ path }) => path !== undefined && Object.hasOwn(SIGN_INS, path),
        handler: createAuthMiddleware(async ({ path, headers, context: { newSession } }) => {
          if (newSession === null) return;
          await endSurplusSessions(newSession.user.id);
          await record(newSession.user.id, 'signed_in', actorOfHeaders(headers), SIGN_INS[path]);
        }),
      },
      {
        matcher: ({ path }) => path !== undefined && Object.hasOwn(SECOND_FACTORS, path),
        handler: createAuthMiddleware(async (ctx) => {
          const { returned, session, newSession } = ctx.context;
          const actor = actorOfHeaders(ctx.headers);
          if (isAPIError(returned)) {
            if (session !== null || !WRONG.includes(returned.body?.code)) return;
            const { name } = ctx.context.createAuthCookie(CHALLENGE_COOKIE);
            const challenge = await ctx.getSignedCookie(name, ctx.context.secret);
            const userId = typeof challenge === 'string' ? await findChallenge(challenge) : null;
            if (userId !== null) await record(userId, 'second_factor_failed', actor);
          } else if (newSession !== null && session === null) {
            const { token, userId } = newSession.session;
            if (ctx.path === APP && !(await useCode(userId, String(ctx.body.code)))) {
              await endSession(token);
              await record(userId, 'second_factor_failed', actor, 'with a code that was used before');
              throw new APIError('UNAUTHORIZED', { code: WRONG_CODE, message: 'Invalid code' });
            }
            await endSurplusSessions(userId);
            await record(userId, 'signed_in', actor, SECOND_FACTORS[ctx.path]);
          } else if (newSession !== null) {
            // Sessions that began with the password alone must not outlive it.
            await endOtherSessions(newSession.user.id, newSession.session.id);
            await record(newSession.user.id, 'two_factor_enabled', actor);
          }
        }),
      },
    ],
  },
});
