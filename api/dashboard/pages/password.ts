import { html } from '../../html.ts';
import { FORGOT, type Mails, RESET } from '../../mails.ts';
import { alert, type Failure, notice } from '../components/alert.ts';
import { inputField } from '../components/field.ts';
import { layout } from '../layout.ts';
import { emailField, PASSWORD } from './signIn.ts';

const TITLE = 'Set a new password';

interface Forgot {
  mails: Pick<Mails, 'delivers' | 'reaches'>;
  email?: string;
  failure?: Failure;
  /** The mail was asked for just now. */
  sent?: boolean;
}

const sentTo = (email: string, delivers: boolean) =>
  notice(
    delivers
      ? html`<p>If there is an account for <strong>${email}</strong>, a mail with a link is on its way to it. The link
works for an hour.</p>`
      : html`<p>This installation sends no mail. If there is an account for <strong>${email}</strong>, the link to a new
password stands in the log of the API.</p>`,
  );

/** The form that has a link sent to who has forgotten the password. */
export const forgotPage = ({ mails, email = '', failure, sent = false }: Forgot): string =>
  layout({
    title: TITLE,
    main: mails.reaches
      ? html`${alert(failure ?? null)}${sent ? sentTo(email, mails.delivers) : null}
<p>Say which address you signed up with, and you get a link to set a new password.</p>
<form class="card" method="post" action="${FORGOT}">
${emailField(email, failure ?? null)}
<button>Send the link</button>
</form>
<p><a href="/dashboard/sign-in">Back to the sign-in</a></p>`
      : html`<p>This installation sends no mail. Ask its operator for a new password.</p>`,
  });

/** Where such a link leads. */
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

/** Where it leads when it was used already, or is too old. */
export const deadLinkPage = (): string =>
  layout({
    title: 'This link no longer works',
    main: html`<p>A link to set a new password works once, and for an hour.</p>
<p><a href="${FORGOT}">Have another one sent</a>, or <a href="/dashboard/sign-in">sign in</a>.</p>`,
  });
