import type { DaySales, SalesDay } from '../../../../store/billing/sales.ts';
import { columnChart } from '../../components/chart.ts';
import { price } from '../../components/price.ts';
import { type Column, table } from '../../components/table.ts';
import { count, number } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { OPERATOR_PATH } from '../paths.ts';

export const SALES_PATH = `${OPERATOR_PATH}/sales`;

/** Periods in days that the page offers. */
export const SALES_PERIODS = [30, 90] as const;

interface SalesPage {
  viewer: Viewer;
  period: number;
  /** Oldest first. */
  days: readonly SalesDay[];
}

const NO_SALES = { purchases: 0, revenue: 0, lost: 0 };

const labelOf = ({ day }: SalesDay): string => day.toISOString().slice(0, 10);

const salesIn = ({ sales }: SalesDay, currency: string): Omit<DaySales, 'currency'> =>
  sales.find((row) => row.currency === currency) ?? NO_SALES;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function revenueChart(days: readonly SalesDay[], currency: string): Html {
  const rows = days.map((day) => ({ label: labelOf(day), ...salesIn(day, currency) }));
  const revenue = sum(rows.map((row) => row.revenue));
  const lost = sum(rows.map((row) => row.lost));
  const purchases = count(sum(rows.map((row) => row.purchases)), 'purchase');
  return columnChart({
    title: `Revenue in ${currency}`,
    unit: currency,
    summary: `${price(revenue, currency)} from ${purchases}${lost === 0 ? '' : `, ${price(lost, currency)} of it paid back or disputed`}`,
    series: [
      { name: 'kept', tone: 'accent' },
      { name: 'paid back or disputed', tone: 'bad' },
    ],
    columns: rows.map((row) => ({
      label: row.label,
      note: `${price(row.revenue, currency)} from ${count(row.purchases, 'purchase')}`,
      values: [(row.revenue - row.lost) / 100, row.lost / 100],
    })),
  });
}

const moneyColumns = (currency: string): Column<SalesDay>[] => [
  {
    title: `Purchases in ${currency}`,
    numeric: true,
    cell: (day) => number(salesIn(day, currency).purchases),
  },
  {
    title: 'Revenue',
    numeric: true,
    cell: (day) => price(salesIn(day, currency).revenue, currency),
  },
  {
    title: 'Paid back or disputed',
    numeric: true,
    cell: (day) => price(salesIn(day, currency).lost, currency),
  },
];

const periodLinks = (period: number): Html =>
  html`<nav class="segments" aria-label="Period"><ul>
${SALES_PERIODS.map(
  (days) =>
    html`<li><a href="${SALES_PATH}?days=${days}"${days === period ? html` aria-current="true"` : null}>${days} days</a></li>
`,
)}</ul></nav>`;

/** For operators: sign-ups, purchases and revenue by day. */
export function salesPage({ viewer, period, days }: SalesPage): string {
  const currencies = [...new Set(days.flatMap(({ sales }) => sales.map(({ currency }) => currency)))].sort();
  return layout({
    title: 'Sign-ups and revenue',
    menu: { viewer, section: 'Operator' },
    parent: { path: OPERATOR_PATH, name: 'Operator' },
    actions: periodLinks(period),
    main: html`<p class="lead">The last ${period} days (UTC). Purchases in test mode are left out. Refunds and disputes count on the day of their
purchase.</p>
<div class="charts">
${columnChart({
  title: 'Sign-ups',
  unit: 'sign-up',
  series: [{ name: 'sign-ups', tone: 'accent' }],
  columns: days.map((day) => ({ label: labelOf(day), values: [day.signUps] })),
})}
${currencies.map((currency) => revenueChart(days, currency))}</div>
${currencies.length === 0 ? html`<p class="quiet">There were no purchases.</p>` : null}
<details><summary>View as table</summary>
${table<SalesDay>(
  'By day (UTC), newest first',
  [
    { title: 'Day', cell: labelOf },
    { title: 'Sign-ups', numeric: true, cell: ({ signUps }) => number(signUps) },
    ...currencies.flatMap(moneyColumns),
  ],
  days.toReversed(),
)}
</details>`,
  });
}
