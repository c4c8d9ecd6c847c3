import { VERIFY } from '../../../../mail/messages.ts';
import { alert, type Failure, notice } from '../../../components/alert.ts';
import { emailField } from '../../../components/credentialFields.ts';
import { type Html, html } from '../../../frame/html.ts';
import { layout } from '../../../frame/layout.ts';

interface CheckMail {
  /** Address that the mail goes to; '' when unknown. */
  email: string;
  failure?: Failure;
  /** Whether a mail was just requested, by sign-up or again. */
  sent?: 'sign-up' | 'again';
}

const sentNotice = (email: string, sent: CheckMail['sent']): Html | null => {
  if (sent === undefined) return null;
  return notice(
    sent === 'sign-up'
      ? html`<p>We sent an email to <strong>${email}</strong>.</p>`
      : html`<p>If <strong>${email}</strong> is not verified yet, we sent an email to it.</p>`,
  );
};

/** The page after sign-up, with a form to send the verification mail again. */
export const checkMailPage = ({ email, failure, sent }: CheckMail): string =>
  layout({
    title: 'Verify your email address',
    main: html`${alert(failure ?? null)}${sentNotice(email, sent)}
<p>Open the link in our email within one hour, then <a href="/dashboard/sign-in">sign in</a>.</p>
<h2>No email?</h2>
<p>Check your spam folder, or request another email:</p>
<form class="card" method="post" action="${VERIFY}">
${emailField(email, failure ?? null)}
<button class="plain">Resend the email</button>
</form>`,
  });
