import type { AccountRow } from '../../../schemas/accountRows.ts';
import type { GrantDoc } from '../../../store/mongo.ts';
import { html } from '../../html.ts';
import { empty } from '../components/alert.ts';
import { amounts } from '../components/amounts.ts';
import { table } from '../components/table.ts';
import { count, moment, number } from '../components/text.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

interface CreditsPage {
  viewer: Viewer;
  account: AccountRow;
  grants: readonly GrantDoc[];
}

/** What the account has, and what it was granted. */
export const creditsPage = ({ viewer, account, grants }: CreditsPage): string =>
  layout({
    title: 'Credits',
    menu: { viewer, section: 'Credits' },
    main: html`${amounts([
      { term: 'Available', value: account.available, note: 'for new calls' },
      { term: 'Balance', value: account.balance, note: 'granted minus charged' },
      { term: 'Reserved', value: account.reserved, note: 'by calls that run now' },
      { term: 'Allowance', value: account.monthlyAllowance, note: 'granted each month' },
    ])}
<h2>Grants</h2>
${
  grants.length === 0
    ? empty(html`<p>No credits were added or taken since the account was opened. The
<a href="/dashboard/ledger">ledger</a> has every change of the balance.</p>`)
    : table<GrantDoc>(
        `The newest ${count(grants.length, 'grant')}`,
        [
          { title: 'When', cell: ({ at }) => moment(at.toISOString()) },
          { title: 'Kind', cell: ({ type }) => type },
          { title: 'Asked', numeric: true, cell: ({ requested }) => number(requested) },
          { title: 'Applied', numeric: true, cell: ({ applied }) => number(applied) },
        ],
        grants,
      )
}
<p>The <a href="/dashboard/tools">tools</a> name their prices; a call that fails costs nothing.</p>`,
  });
