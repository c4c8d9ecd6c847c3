import type { AccountRow } from '../../schemas/accountRows.ts';
import type { User } from '../auth.ts';
import { html } from '../html.ts';
import { layout } from './layout.ts';

interface Overview {
  user: Pick<User, 'email' | 'role'>;
  account: AccountRow;
  /** http or https; null where the installation names none. */
  temporalUiUrl: string | null;
}

const credits = new Intl.NumberFormat('en');

const amount = (term: string, value: number, note: string) => html`<div>
<dt>${term}</dt>
<dd><data value="${value}">${credits.format(value)}</data><small>${note}</small></dd>
</div>`;

/** The first page of who is signed in: who that is, and what the account has. */
export function overviewPage({ user, account, temporalUiUrl }: Overview): string {
  const temporalUi =
    user.role === 'operator' && temporalUiUrl !== null
      ? html`
<li><a href="${temporalUiUrl}">Temporal UI</a></li>`
      : null;
  return layout({
    title: 'Overview',
    header: html`<form method="post" action="/dashboard/sign-out"><button class="quiet">Sign out</button></form>`,
    main: html`<p class="who"><span>${user.email}</span> <span class="role">${user.role}</span></p>
<h2>Credits</h2>
<dl class="amounts">
${[
  amount('Available', account.available, 'for new calls'),
  amount('Balance', account.balance, 'granted minus charged'),
  amount('Reserved', account.reserved, 'by calls that run now'),
  amount('Low threshold', account.lowThreshold, 'below it, credits.low fires'),
]}
</dl>
<h2>Links</h2>
<ul>
<li><a href="/docs">API reference</a></li>${temporalUi}
</ul>`,
  });
}
