import { ServiceError } from '../../../schemas/errors.ts';
import type { SecurityEvent } from '../../../store/accounts/securityLog.ts';
import { actorOf } from '../../auth/actor.ts';
import type { Auth } from '../../auth/auth.ts';
import type { ForwardToAuth } from '../../auth/authRoutes.ts';
import { assertNoFault, codeOf, refusalOf, type ShowForm, withinLimits } from '../authRefusal.ts';
import { goTo, type PageRouter, type Submission, sendPage, type Visit } from '../pageRouter.ts';
import { type SettingsNews, settingsPage } from '../pages/settingsPage.ts';
import { single } from '../query.ts';
import { SETTINGS } from '../settingsPaths.ts';

interface Dependencies {
  forwardToAuth: ForwardToAuth;
  auth: Pick<Auth, 'sessions' | 'endSession' | 'endOtherSessions'>;
  recordSecurity(event: SecurityEvent): Promise<void>;
  /** Whether users can sign in with passkeys. */
  hasPasskeys: boolean;
}

const NEWS: readonly SettingsNews[] = ['password', 'session', 'sessions'];

/** Registers the settings: change of password and list of sessions. */
export function settingsPages(
  pageRouter: PageRouter,
  { forwardToAuth, auth, recordSecurity, hasPasskeys }: Dependencies,
): void {
  async function page({ viewer }: Visit, more: Partial<Parameters<typeof settingsPage>[0]> = {}) {
    return settingsPage({ viewer, sessions: await auth.sessions(viewer.user.id), hasPasskeys, ...more });
  }

  pageRouter.get(SETTINGS.path, async (visit) => {
    const news = NEWS.find((it) => it === single(visit.ctx, 'changed')) ?? null;
    sendPage(visit.ctx, await page(visit, { news }));
  });

  const onSettings = { page: () => SETTINGS.path };

  const changePassword = async (visit: Submission) => {
    const { ctx, form } = visit;
    const showForm: ShowForm = async (status, failure) =>
      sendPage(ctx, await page(visit, { failure }), status);
    const step = async () => {
      const [currentPassword, newPassword] = [
        form.get('currentPassword') ?? '',
        form.get('newPassword') ?? '',
      ];
      const body = { currentPassword, newPassword, revokeOtherSessions: true };
      const response = await forwardToAuth(ctx, 'change-password', { body });
      assertNoFault(response, 'change-password');
      if (!response.ok) return showForm(422, refusalOf(await codeOf(response)));
      ctx.append('Set-Cookie', response.headers.getSetCookie());
      goTo(ctx, `${SETTINGS.path}?changed=password`);
    };
    await withinLimits(ctx, step, showForm);
  };

  const endOthers = async ({ ctx, viewer }: Submission) => {
    await auth.endOtherSessions(viewer.user.id, viewer.sessionId);
    await recordSecurity({ accountId: viewer.account._id, kind: 'sessions_ended', actor: actorOf(ctx) });
    goTo(ctx, `${SETTINGS.path}?changed=sessions`);
  };

  const endOne = async ({ ctx, viewer, id }: Submission) => {
    if (!(await auth.endSession(viewer.user.id, id))) throw new ServiceError('not_found');
    await recordSecurity({ accountId: viewer.account._id, kind: 'session_ended', actor: actorOf(ctx) });
    goTo(ctx, `${SETTINGS.path}?changed=session`);
  };

  pageRouter.post(`${SETTINGS.path}/password`, changePassword, onSettings);
  pageRouter.post(`${SETTINGS.path}/sessions/end-others`, endOthers, onSettings);
  pageRouter.post(`${SETTINGS.path}/sessions/:id/end`, endOne, onSettings);
}
