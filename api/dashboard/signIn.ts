import { html } from '../html.ts';
import { layout } from './layout.ts';

/** What went wrong the last time, and the e-mail that it went wrong with. */
interface Failure {
  message: string;
  email: string;
}

/** The form that opens a session. */
export function signInPage(failure: Failure | null): string {
  const message = failure && html`<p class="alert" role="alert">${failure.message}</p>`;
  return layout({
    title: 'Sign in',
    main: html`${message}
<form class="card" method="post" action="/dashboard/sign-in">
<label for="email">E-mail</label>
<input id="email" name="email" type="email" value="${failure?.email ?? ''}" autocomplete="username" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button>Sign in</button>
</form>`,
  });
}
