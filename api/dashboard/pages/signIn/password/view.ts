import { FORGOT, type Mails, RESET } from '../../../../mail/messages.ts';
import { alert, type Failure, notice } from '../../../components/alert.ts';
import { emailField, PASSWORD } from '../../../components/credentialFields.ts';
import { inputField } from '../../../components/field.ts';
import { html } from '../../../frame/html.ts';
import { layout } from '../../../frame/layout.ts';

const TITLE = 'Set a new password';

interface Forgot {
  mails: Pick<Mails, 'delivers' | 'reaches'>;
  email?: string;
  failure?: Failure;
  /** Whether the mail was just requested. */
  sent?: boolean;
}

const sentTo = (email: string, delivers: boolean) =>
  notice(
    delivers
      ? html`<p>If there is an account for <strong>${email}</strong>, we sent a link to it. The link is
valid for one hour.</p>`
      : html`<p>This installation sends no mail. If there is an account for <strong>${email}</strong>, the API's log has the link
to set a new password.</p>`,
  );

/** The form that requests a password reset. */
export const forgotPage = ({ mails, email = '', failure, sent = false }: Forgot): string =>
  layout({
    title: TITLE,
    main: mails.reaches
      ? html`${alert(failure ?? null)}${sent ? sentTo(email, mails.delivers) : null}
<p>Enter the address that you signed up with. We will send you a link to set a new password.</p>
<form class="card" method="post" action="${FORGOT}">
${emailField(email, failure ?? null)}
<button>Send the link</button>
</form>
<p><a href="/dashboard/sign-in">Back to sign-in</a></p>`
      : html`<p>This installation sends no mail. Ask its operator for a new password.</p>`,
  });

/** The page of a valid reset link. */
export const resetPage = ({ token, failure }: { token: string; failure?: Failure }): string =>
  layout({
    title: TITLE,
    main: html`${alert(failure ?? null)}
<form class="card" method="post" action="${RESET}">
<input type="hidden" name="token" value="${token}">
${inputField({
  name: 'newPassword',
  label: 'New password',
  type: 'password',
  hint: `At least ${PASSWORD.minlength} characters. You are signed out everywhere.`,
  attributes: { autocomplete: 'new-password', required: '', ...PASSWORD },
  failure: failure ?? null,
})}
<button>Set the password</button>
</form>`,
  });

/** The page of a reset link that was used or has expired. */
export const deadLinkPage = (): string =>
  layout({
    title: 'This link no longer works',
    main: html`<p>A link to set a new password can be used once and is valid for one hour.</p>
<p><a href="${FORGOT}">Send another link</a>, or <a href="/dashboard/sign-in">sign in</a>.</p>`,
  });
