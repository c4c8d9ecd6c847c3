import type { Session } from '../../../auth/auth.ts';
import { alert, type Failure, notice } from '../../components/alert.ts';
import { PASSWORD } from '../../components/credentialFields.ts';
import { inputField } from '../../components/field.ts';
import { actionButton, confirmation, postForm } from '../../components/form.ts';
import { table } from '../../components/table.ts';
import { badge, copyable, moment, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { deviceOf } from './deviceOf.ts';
import { CLOSE_PATH, EXPORT_PATH, LOG_PATH, PASSKEYS_PATH, PROFILE_PATH, TWO_FACTOR_PATH } from './paths.ts';

/** The change that was just made. */
export type SettingsNews = 'password' | 'session' | 'sessions';

const NEWS: Record<SettingsNews, string> = {
  password: 'Your password was changed. All other sessions were ended.',
  session: 'The session was ended.',
  sessions: 'All other sessions were ended.',
};

interface Settings {
  viewer: Viewer;
  sessions: readonly Session[];
  hasPasskeys: boolean;
  failure?: Failure;
  news?: SettingsNews | null;
}

const sessionTable = (viewer: Viewer, sessions: readonly Session[]): Html =>
  table<Session>(
    'Sessions, most recently used first',
    [
      { title: 'Device', cell: ({ userAgent }) => typed(deviceOf(userAgent)) },
      { title: 'Address', cell: ({ address }) => address },
      { title: 'Signed in', cell: ({ createdAt }) => moment(createdAt.toISOString()) },
      { title: 'Last used', cell: ({ lastUsedAt }) => moment(lastUsedAt.toISOString()) },
      {
        title: 'End',
        isAction: true,
        cell: ({ id }) =>
          id === viewer.sessionId
            ? badge('this session', 'good')
            : actionButton(viewer, `/dashboard/settings/sessions/${encodeURIComponent(id)}/end`, 'End'),
      },
    ],
    sessions,
    { isNamed: true },
  );

/** The sessions of a user. */
const sessionsOf = (viewer: Viewer, sessions: readonly Session[]): Html => html`<h2>Sessions</h2>
<p class="quiet">Devices that are signed in. Last-used times are accurate to the hour.</p>
${sessionTable(viewer, sessions)}
${
  sessions.length < 2
    ? null
    : confirmation({
        action: '/dashboard/settings/sessions/end-others',
        viewer,
        label: 'End all other sessions',
        text: 'You stay signed in here and are signed out everywhere else.',
      })
}`;

/** Account details, change of password, and sessions. */
export const settingsPage = ({ viewer, sessions, hasPasskeys, failure, news = null }: Settings): string =>
  layout({
    title: 'Settings',
    menu: { viewer, section: 'Settings' },
    main: html`${alert(failure ?? null)}${news === null ? null : notice(html`<p>${NEWS[news]}</p>`)}
<h2>Account</h2>
<dl class="facts">
<div><dt>Name</dt> <dd>${typed(viewer.user.name)}</dd></div>
<div><dt>Email</dt> <dd>${typed(viewer.user.email)}</dd></div>
<div><dt>Role</dt> <dd>${viewer.user.role}</dd></div>
<div><dt>Account id</dt> <dd>${copyable(viewer.account._id)}</dd></div>
<div><dt>Opened</dt> <dd>${moment(viewer.account.createdAt.toISOString())}</dd></div>
</dl>
<p><a href="${PROFILE_PATH}">Change name or email address</a></p>
<h2>Security</h2>
<ul>
<li><a href="${TWO_FACTOR_PATH}">Two-factor authentication</a> is ${viewer.user.hasTwoFactor ? 'on' : 'off'}.</li>
${hasPasskeys ? html`<li><a href="${PASSKEYS_PATH}">Passkeys</a>: sign in with the screen lock of your device or with a security key.</li>` : null}
<li><a href="${LOG_PATH}">Security log</a>: sign-ins, and changes of passwords, passkeys, keys and secrets.</li>
</ul>
<h2>Change the password</h2>
${postForm({
  action: '/dashboard/settings/password',
  viewer,
  content: html`<input class="unseen" name="username" type="email" value="${viewer.user.email}" autocomplete="username" aria-label="Email" readonly tabindex="-1">
${inputField({
  name: 'currentPassword',
  label: 'Current password',
  type: 'password',
  attributes: { autocomplete: 'current-password', required: '' },
  failure: failure ?? null,
})}
${inputField({
  name: 'newPassword',
  label: 'New password',
  type: 'password',
  hint: `At least ${PASSWORD.minlength} characters. You stay signed in here and are signed out everywhere else.`,
  attributes: { autocomplete: 'new-password', required: '', ...PASSWORD },
  failure: failure ?? null,
})}
<button>Change the password</button>`,
})}
${sessionsOf(viewer, sessions)}
<h2>Your data</h2>
<p>Everything that is stored about your account, one JSON object per line: user, sessions, passkeys, keys, endpoints, payments, ledger, calls, events,
attempts and security log. Secrets are not in it.</p>
<div class="actions"><a class="button" href="${EXPORT_PATH}" download>Download all data</a></div>
<h2>Close the account</h2>
<p>Ends keys, webhooks and sessions, and gives you the ledger as a file.</p>
<div class="actions"><a class="button danger" href="${CLOSE_PATH}">Close the account</a></div>`,
  });
