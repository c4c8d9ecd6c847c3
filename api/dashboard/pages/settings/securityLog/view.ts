import type { SecurityEventDoc, SecurityKind } from '../../../../../store/accounts/securityDocs.ts';
import { MAX_OF_KIND } from '../../../../../store/accounts/securityLog.ts';
import type { Page } from '../../../../../store/mongo/pages.ts';
import { alert, empty, type Failure } from '../../../components/alert.ts';
import { pager } from '../../../components/pager.ts';
import { type Look, table } from '../../../components/table.ts';
import { moment, typed } from '../../../components/text.ts';
import { type Html, html } from '../../../frame/html.ts';
import { layout } from '../../../frame/layout.ts';
import type { Viewer } from '../../../frame/viewer.ts';
import { deviceOf } from '../deviceOf.ts';
import { LOG_PATH, SETTINGS } from '../paths.ts';

const NAMES: Record<SecurityKind, string> = {
  signed_in: 'Signed in',
  signed_out: 'Signed out',
  second_factor_failed: 'Wrong second factor at sign-in',
  session_ended: 'Session ended',
  sessions_ended: 'Other sessions ended',
  password_changed: 'Password changed',
  password_reset: 'Password reset by email',
  name_changed: 'Name changed',
  email_change_requested: 'Change of email address requested',
  email_changed: 'Email address changed',
  two_factor_enabled: 'Two-factor authentication turned on',
  two_factor_disabled: 'Two-factor authentication turned off',
  backup_codes_renewed: 'Backup codes replaced',
  passkey_added: 'Passkey added',
  passkey_renamed: 'Passkey renamed',
  passkey_removed: 'Passkey removed',
  key_created: 'Key created',
  key_changed: 'Key changed',
  key_rotated: 'Key rotated',
  key_revoked: 'Key revoked',
  webhook_secret_rotated: 'Webhook secret rotated',
  webhook_secret_activated: 'New webhook secret activated',
  data_exported: 'Data exported',
  account_suspended: 'Account suspended',
  suspension_lifted: 'Suspension ended',
  account_closed: 'Account closed',
};

interface SecurityLog {
  viewer: Viewer;
  events: Page<SecurityEventDoc>;
  cursor: string | undefined;
  failure?: Failure;
}

/** The browser, the API key or the operator that caused an event. */
function deviceCell({ isOperator, keyPrefix, userAgent }: SecurityEventDoc): Html {
  if (isOperator) return html`An operator`;
  return keyPrefix === null ? typed(deviceOf(userAgent)) : html`Key <code>${keyPrefix}…</code>`;
}

/** A table of entries of the security log. */
export const securityTable = (events: readonly SecurityEventDoc[], look: Look = {}): Html =>
  table<SecurityEventDoc>(
    'Entries, newest first',
    [
      { title: 'When', cell: ({ at }) => moment(at.toISOString()) },
      { title: 'What', cell: ({ kind }) => NAMES[kind] },
      { title: 'Details', cell: ({ subject }) => (subject === '' ? null : typed(subject)) },
      { title: 'Device', cell: deviceCell },
      { title: 'Address', cell: ({ address }) => address },
    ],
    events,
    look,
  );

/** The security log of an account, newest first. */
export const securityLogPage = ({ viewer, events, cursor, failure }: SecurityLog): string =>
  layout({
    title: 'Security log',
    menu: { viewer, section: 'Settings' },
    parent: SETTINGS,
    main: html`${alert(failure ?? null)}
<p>Sign-ins and changes that affect the security of your account. Entries are kept for one year, and
of each kind the newest ${MAX_OF_KIND}. If you do not recognise one,
<a href="${SETTINGS.path}">change your password</a> and end the other sessions.</p>
${events.items.length === 0 ? empty(html`<p>There are no entries.</p>`) : securityTable(events.items)}
${pager({ path: LOG_PATH, query: {}, cursor, nextCursor: events.nextCursor })}`,
  });
