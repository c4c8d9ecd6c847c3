import type { ApiKeyDoc } from '../../../../store/keys/keyDocs.ts';
import { keyRow } from '../../../account/rows.ts';
import { empty, notice } from '../../components/alert.ts';
import { confirmation } from '../../components/form.ts';
import { scopeOf } from '../../components/keyState.ts';
import { table } from '../../components/table.ts';
import { count, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

export const CONNECTED_APPS_PATH = '/dashboard/clients';

interface ClientsPage {
  viewer: Viewer;
  /** The live connections, newest first. */
  rows: readonly ApiKeyDoc[];
  isRevoked: boolean;
}

const isoOf = (date: Date | null): string | null => date?.toISOString() ?? null;

function accessOf(row: ApiKeyDoc, viewer: Viewer): string {
  const access = scopeOf(keyRow(row, viewer.account));
  return row.scope === 'tools' && row.client?.account ? `${access}, account` : access;
}

/** Credits spent in the month, and the budgets. */
function spentOf(row: ApiKeyDoc, viewer: Viewer): string | null {
  if (row.scope !== 'tools') return null;
  const { spentThisMonth, monthlyBudget, dailyBudget } = keyRow(row, viewer.account);
  const spent =
    monthlyBudget === null ? number(spentThisMonth) : `${number(spentThisMonth)} of ${number(monthlyBudget)}`;
  return dailyBudget === null ? spent : `${spent}, at most ${count(dailyBudget, 'credit')} per day`;
}

const clientTable = (viewer: Viewer, rows: readonly ApiKeyDoc[]): Html =>
  table<ApiKeyDoc>(
    'Connected apps, newest first',
    [
      {
        title: 'Name',
        cell: ({ _id, name }) =>
          html`<a href="/dashboard/calls?key=${encodeURIComponent(_id)}">${typed(name)}</a>`,
      },
      { title: 'Access', cell: (row) => accessOf(row, viewer) },
      { title: 'Spent this month', numeric: true, cell: (row) => spentOf(row, viewer) },
      { title: 'Last used', cell: ({ lastUsedAt }) => moment(isoOf(lastUsedAt)) },
      { title: 'Expires', cell: ({ expiresAt }) => moment(isoOf(expiresAt)) },
      {
        title: 'Revoke',
        cell: ({ _id, name }) =>
          confirmation({
            action: `${CONNECTED_APPS_PATH}/${encodeURIComponent(_id)}/revoke`,
            viewer,
            label: 'Revoke',
            of: name,
            text: 'Its next call will be refused.',
          }),
      },
    ],
    rows,
  );

/** The apps that the owner has connected by OAuth. */
export const connectedAppsPage = ({ viewer, rows, isRevoked }: ClientsPage): string =>
  layout({
    title: 'Connected apps',
    menu: { viewer, section: 'Connected apps' },
    main: html`${isRevoked ? notice(html`<p>The connection was revoked.</p>`) : null}
<p class="lead">Apps that you have connected to your account, such as agents. Each one has its own limits. To change them, connect
the app again.</p>
${
  rows.length === 0
    ? empty(
        html`<p>No app is connected. <a href="/docs/agents">Connect an agent</a> with the address of the MCP endpoint.</p>`,
      )
    : clientTable(viewer, rows)
}`,
  });
