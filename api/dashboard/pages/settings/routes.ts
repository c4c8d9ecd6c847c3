import { ServiceError } from '../../../../schemas/errors.ts';
import { recordSecurity } from '../../../../store/accounts/securityLog.ts';
import { actorOf } from '../../../auth/actor.ts';
import { passkeySite } from '../../../auth/passkeyPlugin.ts';
import { assertNoFault, codeOf, refusalOf, type ShowForm, withinLimits } from '../../frame/authRefusal.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { goTo, type Submission, sendPage, type Visit } from '../../frame/pageRouter.ts';
import { single } from '../../frame/query.ts';
import { closeAccountRoutes } from './closeAccount/routes.ts';
import { exportRoutes } from './export/routes.ts';
import { passkeysRoutes } from './passkeys/routes.ts';
import { SETTINGS } from './paths.ts';
import { profileRoutes } from './profile/routes.ts';
import { securityLogRoutes } from './securityLog/routes.ts';
import { twoFactorRoutes } from './twoFactor/routes.ts';
import { type SettingsNews, settingsPage } from './view.ts';

const NEWS: readonly SettingsNews[] = ['password', 'session', 'sessions'];

/** Registers the settings: change of password and list of sessions. */
export function settingsRoutes(dashboard: Dashboard): void {
  const { pages, core, forwardToAuth, auth } = dashboard;
  const { env, store } = core;
  const hasPasskeys = passkeySite(env.PUBLIC_URL) !== null;
  profileRoutes(dashboard);
  twoFactorRoutes(dashboard);
  if (hasPasskeys) passkeysRoutes(dashboard);
  securityLogRoutes(dashboard);
  exportRoutes(dashboard);
  closeAccountRoutes(dashboard);

  async function page({ viewer }: Visit, more: Partial<Parameters<typeof settingsPage>[0]> = {}) {
    return settingsPage({ viewer, sessions: await auth.sessions(viewer.user.id), hasPasskeys, ...more });
  }

  pages.get(SETTINGS.path, async (visit) => {
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
    await recordSecurity(store, {
      accountId: viewer.account._id,
      kind: 'sessions_ended',
      actor: actorOf(ctx),
    });
    goTo(ctx, `${SETTINGS.path}?changed=sessions`);
  };

  const endOne = async ({ ctx, viewer, id }: Submission) => {
    if (!(await auth.endSession(viewer.user.id, id))) throw new ServiceError('not_found');
    await recordSecurity(store, {
      accountId: viewer.account._id,
      kind: 'session_ended',
      actor: actorOf(ctx),
    });
    goTo(ctx, `${SETTINGS.path}?changed=session`);
  };

  pages.post(`${SETTINGS.path}/password`, changePassword, onSettings);
  pages.post(`${SETTINGS.path}/sessions/end-others`, endOthers, onSettings);
  pages.post(`${SETTINGS.path}/sessions/:id/end`, endOne, onSettings);
}
