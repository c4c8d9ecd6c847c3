import type { AccountRow, CallRow, KeyRow, RefusalRow } from '../../../../schemas/accountRows.ts';
import type { WebhookRow } from '../../../../schemas/webhookRows.ts';
import type { AutoTopUpDoc } from '../../../../store/billing/topUpRunDocs.ts';
import type { DailyUsage } from '../../../../store/billing/usage.ts';
import type { RefusalDayDoc } from '../../../../store/calls/refusalDocs.ts';
import { DASHBOARD } from '../../../account/callExport.ts';
import { empty } from '../../components/alert.ts';
import { amounts } from '../../components/amounts.ts';
import { bar, type Column, columnChart, PART_TONES } from '../../components/chart.ts';
import { suspension } from '../../components/suspension.ts';
import { table } from '../../components/table.ts';
import { count, duration, number, percent, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { CALLS_PATH } from '../calls/callView.ts';
import { callTable } from '../calls/listView.ts';
import { toolPath } from '../tools/toolView.ts';
import { type Attention, attentionList } from './attention.ts';
import { checklist, type Step } from './checklist.ts';
import {
  type DayUse,
  latencyOfAll,
  paceOf,
  perDay,
  perKey,
  perTool,
  type SplitUse,
  type Sums,
  splitPerDay,
  successOf,
  sumOf,
  type ToolUse,
  timeLeft,
} from './pace.ts';

const DAY_MS = 86_400_000;
/** Periods of the charts in days. */
export const PERIODS = [7, 30, 90] as const;
type Period = (typeof PERIODS)[number];
/** By what the chart of credits splits its columns. */
export const SPLITS = ['tool', 'key'] as const;
type Split = (typeof SPLITS)[number];

/** Number of keys in the table: those with the most credits. */
const SHOWN_KEYS = 10;

interface Overview {
  viewer: Viewer;
  account: AccountRow;
  openedAt: Date;
  period: Period;
  split: Split;
  /** Usage of the account in the selected period, by day. */
  usage: readonly DailyUsage[];
  /** Numbers of refused requests in the period, by day. */
  refused: readonly Pick<RefusalDayDoc, 'day' | 'count'>[];
  /** The newest refused requests. */
  refusals: readonly RefusalRow[];
  /** Automatic top-ups; null if the account has never had any. */
  topUp: AutoTopUpDoc | null;
  keys: readonly KeyRow[];
  endpoints: readonly WebhookRow[];
  /** The newest calls without a result. */
  failures: readonly CallRow[];
  steps: readonly Step[];
  now: Date;
}

const latency = (ms: number | null): string => (ms === null ? '–' : duration(ms));

const periodLinks = ({ period, split }: Overview): Html =>
  html`<nav class="segments" aria-label="Period"><ul>${PERIODS.map(
    (days) =>
      html`<li><a href="/dashboard?days=${days}&amp;by=${split}"${days === period ? html` aria-current="true"` : null}>${days} days</a></li>`,
  )}</ul></nav>`;

const splitLinks = ({ period, split }: Overview): Html =>
  html`<nav class="segments" aria-label="Credits by"><ul>${SPLITS.map(
    (by) =>
      html`<li><a href="/dashboard?days=${period}&amp;by=${by}#usage"${by === split ? html` aria-current="true"` : null}>By ${by}</a></li>`,
  )}</ul></nav>`;

/** Names of keys, which need not be unique, with their prefixes. */
function keyNamer(keys: readonly KeyRow[]) {
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  return ({ keyId, keyPrefix }: DailyUsage['keys'][number]): string =>
    keyId === null ? 'dashboard' : `${names.get(keyId) ?? 'key'} ${keyPrefix ?? ''}`;
}

function creditsByDay({ usage, split, keys }: Overview, days: readonly DayUse[]): SplitUse {
  const nameOf = keyNamer(keys);
  return splitPerDay(usage, days, (day) =>
    split === 'tool'
      ? day.tools.map(({ tool, charged }) => ({ name: tool, charged }))
      : day.keys.map((key) => ({ name: nameOf(key), charged: key.charged })),
  );
}

const splitTable = ({ names, days }: SplitUse, split: Split): Html =>
  table<SplitUse['days'][number]>(
    `Credits by day (UTC) and ${split}, newest first`,
    [
      { title: 'Day', cell: ({ day }) => day },
      ...names.map((name, part) => ({
        title: name,
        numeric: true as const,
        cell: ({ values }: SplitUse['days'][number]) => number(values[part] ?? 0),
      })),
    ],
    days.toReversed(),
    { isCompact: true },
  );

/** The column of a day in the chart of calls. Refused requests are in it, but are no calls. */
function callColumn({ day, calls, succeeded, refused }: DayUse, hasRefused: boolean): Column {
  const values = [succeeded, calls - succeeded];
  if (!hasRefused) return { label: day, values };
  const note = `${count(calls, 'call')}, ${number(calls - succeeded)} failed, ${count(refused, 'refused request')}`;
  return { label: day, values: [...values, refused], note };
}

const callSummary = (days: readonly DayUse[], refused: number): string =>
  `${count(sumOf(days).calls, 'call')} and ${count(refused, 'refused request')}`;

function charts(overview: Overview): Html {
  const { usage, period, now, split } = overview;
  const days = perDay(usage, overview.refused, period, now);
  const refused = overview.refused.reduce((sum, { count: requests }) => sum + requests, 0);
  const credits = creditsByDay(overview, days);
  return html`<div class="charts">
${columnChart({
  title: 'Credits by day (UTC)',
  unit: 'credit',
  series: credits.names.map((name, part) => ({ name, tone: PART_TONES[part] ?? 'accent' })),
  columns: credits.days.map(({ day, values }) => ({ label: day, values })),
  isSplit: true,
})}
${columnChart({
  title: 'Calls by day (UTC)',
  unit: 'call',
  series: [
    { name: 'with result', tone: 'accent' },
    { name: 'failed', tone: 'bad' },
    ...(refused === 0 ? [] : [{ name: 'refused requests', tone: 'part-3' } as const]),
  ],
  columns: days.map((day) => callColumn(day, refused > 0)),
  ...(refused > 0 && { summary: callSummary(days, refused) }),
})}
</div>
<details><summary>View as table</summary>
${table<DayUse>(
  'Usage by day (UTC), newest first',
  [
    { title: 'Day', cell: ({ day }) => day },
    { title: 'Credits', numeric: true, cell: ({ charged }) => number(charged) },
    { title: 'Calls', numeric: true, cell: ({ calls }) => number(calls) },
    { title: 'Failed', numeric: true, cell: ({ calls, succeeded }) => number(calls - succeeded) },
    ...(refused === 0
      ? []
      : [{ title: 'Refused', numeric: true, cell: (day: DayUse) => number(day.refused) } as const]),
    { title: 'p50', numeric: true, cell: ({ p50 }) => latency(p50) },
    { title: 'p95', numeric: true, cell: ({ p95 }) => latency(p95) },
  ],
  days.toReversed(),
  { isCompact: true },
)}
${splitTable(credits, split)}
</details>`;
}

const callsHref = (query: Record<string, string>): string => `${CALLS_PATH}?${new URLSearchParams(query)}`;

const creditsCell = ({ charged }: Sums, most: number): Html =>
  html`${number(charged)}${bar(most === 0 ? 0 : charged / most)}`;

function toolTable(rows: readonly ToolUse[]): Html {
  const most = rows[0]?.charged ?? 0;
  return table<ToolUse>(
    'By tool',
    [
      { title: 'Tool', cell: ({ tool }) => html`<a href="${toolPath(tool)}">${tool}</a>` },
      { title: 'Credits', numeric: true, cell: (row) => creditsCell(row, most) },
      {
        title: 'Calls',
        numeric: true,
        cell: ({ tool, calls }) => html`<a href="${callsHref({ tool })}">${number(calls)}</a>`,
      },
      { title: 'Success', numeric: true, cell: (row) => percent(successOf(row)) },
      { title: 'p50', numeric: true, cell: ({ p50 }) => latency(p50) },
      { title: 'p95', numeric: true, cell: ({ p95 }) => latency(p95) },
    ],
    rows,
    { isCompact: true },
  );
}

function keyTable({ usage, keys }: Overview): Html {
  const all = perKey(usage);
  const rows = all.slice(0, SHOWN_KEYS);
  const most = rows[0]?.charged ?? 0;
  const nameOf = (keyId: string | null) => keys.find(({ id }) => id === keyId)?.name;
  const caption = rows.length < all.length ? `By key, the ${SHOWN_KEYS} with the most credits` : 'By key';
  return table<(typeof rows)[number]>(
    caption,
    [
      {
        title: 'Key',
        cell: ({ keyId, keyPrefix }) =>
          keyId === null
            ? 'dashboard'
            : html`${typed(nameOf(keyId) ?? 'key')} <code>${keyPrefix ?? ''}</code>`,
      },
      { title: 'Credits', numeric: true, cell: (row) => creditsCell(row, most) },
      {
        title: 'Calls',
        numeric: true,
        cell: ({ keyId, calls }) =>
          html`<a href="${callsHref({ key: keyId ?? DASHBOARD })}">${number(calls)}</a>`,
      },
      { title: 'Success', numeric: true, cell: (row) => percent(successOf(row)) },
    ],
    rows,
    { isCompact: true },
  );
}

function use(overview: Overview, tools: readonly ToolUse[]): Html {
  const { usage, failures, refused } = overview;
  if (usage.length === 0 && refused.length === 0)
    return empty(html`<p>No calls in this period. <a href="/dashboard/tools">Try a tool</a> here, or call one from a
program with a <a href="/dashboard/keys">key</a>.</p>`);
  return html`${charts(overview)}
<div class="halves">
<div>${toolTable(tools)}</div>
<div>${keyTable(overview)}</div>
</div>
${
  failures.length === 0
    ? null
    : html`<div class="head"><h2>Recent errors</h2><a href="${callsHref({ state: 'refunded' })}">All failed calls</a></div>
<p class="quiet">Calls without a result. None of them was charged.</p>
${callTable(failures, 'Newest errors', true)}`
}`;
}

/** The dashboard's first page: credits, usage, and what needs attention. */
export function overviewPage(overview: Overview): string {
  const { viewer, account, openedAt, period, usage, keys, endpoints, steps, now } = overview;
  const tools = perTool(usage);
  const sums = sumOf(tools);
  const isUsed = sums.calls > 0;
  const { p50, p95 } = latencyOfAll(tools);
  const pace = paceOf(account.available, usage, openedAt, now);
  const isYoung = now.getTime() - openedAt.getTime() < period * DAY_MS;
  const span = isYoung ? 'since sign-up' : `in ${count(period, 'day')}`;
  const attention: Attention = {
    account,
    daysLeft: pace.days,
    keys,
    endpoints,
    refusals: overview.refusals,
    topUp: overview.topUp,
    now,
  };
  return layout({
    title: 'Overview',
    menu: { viewer, section: 'Overview' },
    actions: periodLinks(overview),
    main: html`${suspension(viewer.account)}${attentionList(attention)}${checklist(steps)}
<h2 class="unseen">Credits</h2>
${amounts([
  {
    term: 'Available',
    value: account.available,
    note:
      account.reserved === 0
        ? 'credits for new calls'
        : `credits for new calls; ${number(account.reserved)} reserved`,
  },
  {
    term: 'Credits last',
    value: timeLeft(account.available, pace),
    note: pace.note,
  },
  { term: 'Used', value: sums.charged, note: `credits ${span}` },
  {
    term: 'Calls',
    value: sums.calls,
    note: isUsed ? `${number(sums.calls - sums.succeeded)} failed, not charged` : span,
  },
  { term: 'Success', value: percent(successOf(sums)), note: isUsed ? 'calls with a result' : 'no calls yet' },
  { term: 'Latency', value: latency(p50), note: isUsed ? `median; p95 ${latency(p95)}` : 'no calls yet' },
])}
<div class="head"><h2 id="usage">Usage</h2>${splitLinks(overview)}</div>
${use(overview, tools)}
<p class="quiet">Below ${count(account.lowThreshold, 'credit')}, <code>credits.low</code> is sent to your
<a href="/dashboard/webhooks">webhooks</a>.${isUsed ? html` Durations are from acceptance to settlement; p50 and p95 are accurate to 10&nbsp;%.` : null}</p>`,
  });
}
