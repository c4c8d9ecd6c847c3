import type { Share } from '../../../../store/accounts/shares.ts';
import { empty } from '../../components/alert.ts';
import { table } from '../../components/table.ts';
import { badge, moment, number, typed } from '../../components/text.ts';
import { html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { accountPath, OPERATOR_PATH } from '../paths.ts';

export const SHARES_PATH = `${OPERATOR_PATH}/shares`;

const MB = 1024 * 1024;

const runningCell = ({ running }: Share): string =>
  Object.entries(running)
    .filter(([, calls]) => calls > 0)
    .map(([pool, calls]) => `${pool} ${number(calls)}`)
    .join(', ') || '–';

const shareTable = (shares: readonly Share[]) =>
  table<Share>(
    'Accounts, by running calls',
    [
      {
        title: 'Account',
        cell: ({ accountId, email }) => html`<a href="${accountPath(accountId)}">${typed(email)}</a>`,
      },
      { title: 'Running calls', cell: runningCell },
      { title: 'Reserved', numeric: true, cell: ({ reserved }) => number(reserved) },
      { title: 'Calls without a charge', numeric: true, cell: ({ uncharged }) => number(uncharged) },
      {
        title: 'Stored results, MB',
        numeric: true,
        cell: ({ keptBytes }) => number(Math.ceil(keptBytes / MB)),
      },
      { title: 'Changes', numeric: true, cell: ({ changes }) => number(changes) },
      {
        title: 'State',
        cell: ({ isSuspended, pausedUntil }) => {
          if (isSuspended) return badge('suspended', 'bad');
          return pausedUntil === null ? null : html`paused until ${moment(pausedUntil.toISOString())}`;
        },
      },
    ],
    shares,
  );

/** For operators: the accounts that hold most of the service now. */
export const operatorSharesPage = (viewer: Viewer, shares: readonly Share[]): string =>
  layout({
    title: 'Shares of accounts',
    menu: { viewer, section: 'Operator' },
    parent: { path: OPERATOR_PATH, name: 'Operator' },
    main: html`<p class="lead">The accounts that hold most of the service now: running calls, calls that ended without a charge and changes of
keys and webhook endpoints in the last 24 hours, and large results that wait for replays. The page of an account can suspend it.</p>
${shares.length === 0 ? empty(html`<p>No account holds anything.</p>`) : shareTable(shares)}`,
  });
