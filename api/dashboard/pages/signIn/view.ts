import { FORGOT } from '../../../mail/messages.ts';
import { alert, type Failure, notice } from '../../components/alert.ts';
import { emailField, PASSWORD } from '../../components/credentialFields.ts';
import { inputField } from '../../components/field.ts';
import { number } from '../../components/text.ts';
import { html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import { passkeyForm } from '../settings/passkeys/form.ts';

/** Values for showing a refused form again. */
interface Again {
  failure: Failure;
  email: string;
}

/** Outcome of a mail link that was just followed. */
export type SignInNews = 'verified' | 'reset';

const NEWS: Record<SignInNews, string> = {
  verified: 'Your email address is verified. Sign in to continue.',
  reset: 'Your password was changed and all sessions were ended. Sign in with the new password.',
};

interface SignIn {
  again: Again | null;
  news: SignInNews | null;
  /** Whether users can sign in with passkeys. */
  hasPasskeys: boolean;
}

export const SIGN_IN_PASSKEY = '/dashboard/sign-in/passkey';

const passkeySignInForm = passkeyForm({
  step: 'get',
  action: SIGN_IN_PASSKEY,
  content: html`<button class="plain">Sign in with a passkey</button>`,
});

/** The sign-in form. */
export const signInPage = ({ again, news, hasPasskeys }: SignIn): string =>
  layout({
    title: 'Sign in',
    main: html`${alert(again?.failure ?? null)}${news === null ? null : notice(html`<p>${NEWS[news]}</p>`)}
<form class="card" method="post" action="/dashboard/sign-in">
${emailField(again?.email ?? '', again?.failure ?? null)}
${inputField({
  name: 'password',
  label: 'Password',
  type: 'password',
  attributes: { autocomplete: 'current-password', required: '' },
  failure: null,
})}
<button>Sign in</button>
</form>
${hasPasskeys ? passkeySignInForm : null}
<p><a href="${FORGOT}">Forgot your password?</a></p>
<p>No account yet? <a href="/dashboard/sign-up">Sign up</a>.</p>`,
  });

export const SIGN_IN_CODE = '/dashboard/sign-in/code';

/** The form for the second factor, after the password. */
export const signInCodePage = (failure: Failure | null): string =>
  layout({
    title: 'Enter your code',
    main: html`${alert(failure)}
<form class="card" method="post" action="${SIGN_IN_CODE}">
${inputField({
  name: 'code',
  label: 'Code',
  hint: 'The code of your authenticator app, or one of your backup codes.',
  attributes: { autocomplete: 'one-time-code', required: '', maxlength: 20 },
  failure,
})}
<button>Sign in</button>
</form>
<p><a href="/dashboard/sign-in">Back to sign-in</a></p>`,
  });

interface SignUp {
  freeCredits: number;
  /** Whether accounts need a verified address. */
  verifies: boolean;
  /** Whether the operator has published terms of service. */
  hasTerms: boolean;
  again: Again | null;
}

/** The sign-up form. */
export const signUpPage = ({ freeCredits, verifies, hasTerms, again }: SignUp): string =>
  layout({
    title: 'Sign up',
    main: html`${alert(again?.failure ?? null)}
<p>${
      freeCredits === 0
        ? 'You pay only for calls that return a result.'
        : `A new account starts with ${number(freeCredits)} free credits. You pay only for calls that return a result.`
    }${verifies ? ' We first send you an email to verify your address.' : ''}</p>
<form class="card" method="post" action="/dashboard/sign-up">
${emailField(again?.email ?? '', again?.failure ?? null)}
${inputField({
  name: 'password',
  label: 'Password',
  type: 'password',
  hint: `At least ${PASSWORD.minlength} characters.`,
  attributes: { autocomplete: 'new-password', required: '', ...PASSWORD },
  failure: again?.failure ?? null,
})}
<button>Sign up</button>
${hasTerms ? html`<p class="hint">By signing up you accept the <a href="/terms">terms of service</a>.</p>` : null}</form>
<p>Already have an account? <a href="/dashboard/sign-in">Sign in</a>.</p>`,
  });
