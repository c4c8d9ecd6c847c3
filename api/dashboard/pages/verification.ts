import { type Html, html } from '../../html.ts';
import { VERIFY } from '../../mails.ts';
import { alert, type Failure, notice } from '../components/alert.ts';
import { layout } from '../layout.ts';
import { emailField } from './signIn.ts';

interface CheckMail {
  /** Where the mail goes to; '' where nobody has said. */
  email: string;
  failure?: Failure;
  /** A mail was asked for just now: by signing up, or again. */
  sent?: 'sign-up' | 'again';
}

const said = (email: string, sent: CheckMail['sent']): Html | null => {
  if (sent === undefined) return null;
  return notice(
    sent === 'sign-up'
      ? html`<p>A mail is on its way to <strong>${email}</strong>.</p>`
      : html`<p>If <strong>${email}</strong> is still to be verified, a mail is on its way to it.</p>`,
  );
};

/** What is next for who has signed up, and the form that has the mail sent again. */
export const checkMailPage = ({ email, failure, sent }: CheckMail): string =>
  layout({
    title: 'Verify your e-mail address',
    main: html`${alert(failure ?? null)}${said(email, sent)}
<p>Follow the link in our mail within an hour, then <a href="/dashboard/sign-in">sign in</a>.</p>
<h2>No mail?</h2>
<p>Look where your mail program keeps what it takes for unwanted, or have it sent again:</p>
<form class="card" method="post" action="${VERIFY}">
${emailField(email, failure ?? null)}
<button class="plain">Send the mail again</button>
</form>`,
  });
