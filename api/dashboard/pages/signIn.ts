import { html } from '../../html.ts';
import { alert, type Failure } from '../components/alert.ts';
import { inputField } from '../components/field.ts';
import { number } from '../components/text.ts';
import { layout } from '../layout.ts';

/** What the form is shown again with. */
interface Again {
  failure: Failure;
  email: string;
}

const emailField = (again: Again | null) =>
  inputField({
    name: 'email',
    label: 'E-mail',
    type: 'email',
    value: again?.email ?? '',
    attributes: { autocomplete: 'username', required: '' },
    failure: again?.failure ?? null,
  });

/** The form that opens a session. */
export const signInPage = (again: Again | null): string =>
  layout({
    title: 'Sign in',
    main: html`${alert(again?.failure ?? null)}
<form class="card" method="post" action="/dashboard/sign-in">
${emailField(again)}
${inputField({
  name: 'password',
  label: 'Password',
  type: 'password',
  attributes: { autocomplete: 'current-password', required: '' },
  failure: null,
})}
<button>Sign in</button>
</form>
<p>No account yet? <a href="/dashboard/sign-up">Sign up</a>.</p>`,
  });

/** The shortest password that better-auth takes, and the longest. */
export const PASSWORD = { minlength: 8, maxlength: 128 } as const;

/** The form that opens an account. */
export const signUpPage = (freeCredits: number, again: Again | null): string =>
  layout({
    title: 'Sign up',
    main: html`${alert(again?.failure ?? null)}
<p>${
      freeCredits === 0
        ? 'You pay only for calls that give a result.'
        : `A new account starts with ${number(freeCredits)} free credits. You pay only for calls that give a result.`
    }</p>
<form class="card" method="post" action="/dashboard/sign-up">
${emailField(again)}
${inputField({
  name: 'password',
  label: 'Password',
  type: 'password',
  hint: `At least ${PASSWORD.minlength} characters.`,
  attributes: { autocomplete: 'new-password', required: '', ...PASSWORD },
  failure: again?.failure ?? null,
})}
<button>Sign up</button>
</form>
<p>You have an account? <a href="/dashboard/sign-in">Sign in</a>.</p>`,
  });
