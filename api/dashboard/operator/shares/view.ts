import type { Share } from '../../../../store/accounts/shares.ts';
import type { ClientUse } from '../../../../store/calls/callDocs.ts';
import { empty } from '../../components/alert.ts';
import { type Column, table } from '../../components/table.ts';
import { badge, moment, number, typed } from '../../components/text.ts';
import { html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { accountPath, OPERATOR_PATH } from '../paths.ts';

export const SHARES_PATH = `${OPERATOR_PATH}/shares`;

const MB = 1024 * 1024;
const megabytes = (bytes: number): string => number(Math.ceil(bytes / MB));

const runningCell = ({ running }: Share): string =>
  Object.entries(running)
    .filter(([, calls]) => calls > 0)
    .map(([pool, calls]) => `${pool} ${number(calls)}`)
    .join(', ') || '–';

const USE: Column<Omit<ClientUse, 'client'>>[] = [
  { title: 'Connections', numeric: true, cell: ({ connections }) => number(connections) },
  { title: 'Uploads, MB', numeric: true, cell: ({ receivedBytes }) => megabytes(receivedBytes) },
  { title: 'Unread responses, MB', numeric: true, cell: ({ unreadBytes }) => megabytes(unreadBytes) },
];

const addressTable = (addresses: readonly ClientUse[]) =>
  table<ClientUse>(
    'Client addresses, by connections',
    [{ title: 'Address', cell: ({ client }) => client }, ...USE],
    addresses,
  );

const accountOf = ({ accountId, email }: Share) =>
  html`<a href="${accountPath(accountId)}">${typed(email)}</a>`;

const connectionTable = (shares: readonly Share[]) =>
  table<Share>('Connections of these accounts', [{ title: 'Account', cell: accountOf }, ...USE], shares);

const shareTable = (shares: readonly Share[]) =>
  table<Share>(
    'Accounts, by running calls',
    [
      { title: 'Account', cell: accountOf },
      { title: 'Running calls', cell: runningCell },
      { title: 'Reserved', numeric: true, cell: ({ reserved }) => number(reserved) },
      { title: 'Calls without a charge', numeric: true, cell: ({ uncharged }) => number(uncharged) },
      {
        title: 'Stored results, MB',
        numeric: true,
        cell: ({ keptBytes }) => megabytes(keptBytes),
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

/** For operators: the accounts and addresses that use most of the service now. */
export const operatorSharesPage = (
  viewer: Viewer,
  shares: readonly Share[],
  addresses: readonly ClientUse[],
): string =>
  layout({
    title: 'Shares of accounts',
    menu: { viewer, section: 'Operator' },
    parent: { path: OPERATOR_PATH, name: 'Operator' },
    main: html`<p class="lead">The accounts that use most of the service now: running calls, calls that ended without a charge and changes of
keys and webhook endpoints in the last 24 hours, large results that wait for replays, and connections to the API with the uploads and
unread responses on them. The page of an account can suspend it.</p>
${shares.length === 0 ? empty(html`<p>No account uses anything at the moment.</p>`) : [shareTable(shares), connectionTable(shares)]}
${addresses.length === 0 ? null : addressTable(addresses)}
<p>Connections, uploads and responses are those of some seconds ago. Behind a proxy, connections are requests in progress.</p>`,
  });
