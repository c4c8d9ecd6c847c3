import type { AccountRow } from '../../../schemas/accountRows.ts';
import type { DailyToolUsage } from '../../../store/mongo.ts';
import { USAGE_DAYS } from '../../../store/usage.ts';
import { empty } from '../components/alert.ts';
import { amounts } from '../components/amounts.ts';
import { barChart, columnChart } from '../components/chart.ts';
import { suspension } from '../components/suspension.ts';
import { type Html, html } from '../html.ts';
import { layout } from '../layout.ts';
import { lasts, perDay, perTool } from '../pace.ts';
import type { Viewer } from '../viewer.ts';

interface Overview {
  viewer: Viewer;
  account: AccountRow;
  /** Usage of the last `USAGE_DAYS` days. */
  usage: readonly DailyToolUsage[];
  hasKey: boolean;
  now: Date;
}

function use(usage: readonly DailyToolUsage[], now: Date): Html {
  const days = perDay(usage, now).map(({ day, charged }) => ({ label: day, value: charged }));
  const tools = perTool(usage).map(({ tool, charged }) => ({ label: tool, value: charged }));
  return html`<h3>By day</h3>
${columnChart(`Credits charged in ${USAGE_DAYS} days`, 'credit', days)}
<h3>By tool</h3>
${barChart(tools)}`;
}

function begin(hasKey: boolean): Html {
  const key = hasKey
    ? html`<li>Call a tool with your <a href="/dashboard/keys">key</a>.</li>`
    : html`<li><a href="/dashboard/keys">Create a key</a> and call a tool from your program.</li>`;
  return empty(html`<p>No call was charged in the last ${USAGE_DAYS} days. To get started:</p>
<ul>
<li><a href="/dashboard/tools">Try a tool</a> in the dashboard.</li>
${key}
<li><a href="/dashboard/webhooks">Add a webhook</a> to be notified when credits run low.</li>
</ul>`);
}

/** The dashboard's first page: credits and usage. */
export function overviewPage({ viewer, account, usage, hasKey, now }: Overview): string {
  return layout({
    title: 'Overview',
    menu: { viewer, section: 'Overview' },
    main: html`${suspension(viewer.account)}
<h2>Credits</h2>
${amounts([
  { term: 'Available', value: account.available, note: 'for new calls' },
  { term: 'Balance', value: account.balance, note: 'granted minus charged' },
  { term: 'Reserved', value: account.reserved, note: 'by running calls' },
  { term: 'Lasts', value: lasts(account.available, usage, now), note: 'at the average of the last 7 days' },
])}
<p class="quiet">Below ${account.lowThreshold} credits, <code>credits.low</code> is sent to your
<a href="/dashboard/webhooks">webhooks</a>.</p>
<h2>Usage</h2>
${usage.length === 0 ? begin(hasKey) : use(usage, now)}`,
  });
}
