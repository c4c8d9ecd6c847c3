import { alert, type Failure } from '../../../components/alert.ts';
import { passwordField } from '../../../components/credentialFields.ts';
import { inputField } from '../../../components/field.ts';
import { postForm } from '../../../components/form.ts';
import { count, typed } from '../../../components/text.ts';
import { html } from '../../../frame/html.ts';
import { layout } from '../../../frame/layout.ts';
import type { Viewer } from '../../../frame/viewer.ts';
import { LEDGER_PATH } from '../../ledger/view.ts';
import { CLOSE_PATH, EXPORT_PATH, SETTINGS } from '../paths.ts';

interface CloseAccount {
  viewer: Viewer;
  failure?: Failure;
}

/** The page that says what closing the account means, and asks for confirmation. */
export function closeAccountPage({ viewer, failure }: CloseAccount): string {
  const { balance, reserved, running } = viewer.account;
  const runningCalls = Object.values(running).reduce((sum, calls) => sum + calls, 0);
  return layout({
    title: 'Close the account',
    menu: { viewer, section: 'Settings' },
    parent: SETTINGS,
    main: html`${alert(failure ?? null)}
<p>Closing cannot be undone:</p>
<ul>
<li><strong>Your ${count(balance - reserved, 'remaining credit')} can no longer be used</strong> and are not paid out.</li>
<li>All API keys stop working at once. ${
      runningCalls === 0
        ? 'No call is running.'
        : `${count(runningCalls, 'running call ends', 'running calls end')} and ${runningCalls === 1 ? 'is' : 'are'} charged or refunded as usual.`
    }</li>
<li>All webhook endpoints are deleted, and events that were not delivered yet are not delivered.</li>
<li>You are signed out everywhere, and your email address, name, password and passkeys are deleted.</li>
<li>The ledger, the payments and the list of calls are kept for accounting, without your email address.</li>
<li>A new account with the same email address starts without free credits.</li>
</ul>
<h2>Before you close it</h2>
<p>You cannot sign in afterwards. Download what you want to keep:</p>
<div class="actions"><a class="button" href="${LEDGER_PATH}/statement.csv" download>Ledger as CSV</a>
<a class="button" href="${EXPORT_PATH}" download>All data (NDJSON)</a></div>
<h2>Confirm</h2>
${postForm({
  action: CLOSE_PATH,
  viewer,
  content: html`${inputField({
    name: 'email',
    label: 'Email address of the account',
    type: 'email',
    hint: html`Enter ${typed(viewer.user.email)} to confirm.`,
    attributes: { autocomplete: 'off', required: '' },
    failure: failure ?? null,
  })}
${passwordField(failure ?? null)}
<button class="danger">Close the account</button>`,
})}`,
  });
}

/** The page after the account was closed. */
export const closedPage = (email: string): string =>
  layout({
    title: 'Your account is closed',
    main: html`<p>All keys were revoked and all sessions were ended. The address <strong>${typed(email)}</strong> is free again.</p>`,
  });
