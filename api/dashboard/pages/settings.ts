import { html } from '../../html.ts';
import { alert, type Failure, notice } from '../components/alert.ts';
import { inputField } from '../components/field.ts';
import { postForm } from '../components/form.ts';
import { moment } from '../components/text.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';
import { PASSWORD } from './signIn.ts';

interface Settings {
  viewer: Viewer;
  failure?: Failure;
  /** The password was changed just now. */
  changed?: boolean;
}

/** Who is signed in, and the change of their password. */
export const settingsPage = ({ viewer, failure, changed }: Settings): string =>
  layout({
    title: 'Settings',
    menu: { viewer, section: 'Settings' },
    main: html`${alert(failure ?? null)}${
      changed ? notice(html`<p>The password is changed. All other sessions have ended.</p>`) : null
    }
<h2>Account</h2>
<dl class="facts">
<div><dt>E-mail</dt> <dd>${viewer.user.email}</dd></div>
<div><dt>Role</dt> <dd>${viewer.user.role}</dd></div>
<div><dt>Account</dt> <dd><code>${viewer.account._id}</code></dd></div>
<div><dt>Opened</dt> <dd>${moment(viewer.account.createdAt.toISOString())}</dd></div>
</dl>
<h2>Change the password</h2>
${postForm({
  action: '/dashboard/settings/password',
  viewer,
  content: html`<input class="unseen" name="username" type="email" value="${viewer.user.email}" autocomplete="username" aria-label="E-mail" readonly tabindex="-1">
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
})}`,
  });
