import { type CallRow, call as callSchema } from '../../../schemas/accountRows.ts';
import type { Page } from '../../../store/pages.ts';
import { alert, empty, type Failure } from '../components/alert.ts';
import { inputField, selectField } from '../components/field.ts';
import { pager } from '../components/pager.ts';
import { table } from '../components/table.ts';
import { badge, duration, moment } from '../components/text.ts';
import { type Html, html } from '../html.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

/** Values of the filter form; empty means any. */
export interface CallQuery {
  tool: string;
  state: string;
  /** First and last day in UTC, such as `2026-12-31`. */
  from: string;
  to: string;
}

interface CallsPage {
  viewer: Viewer;
  calls: Page<CallRow>;
  cursor: string | undefined;
  query: CallQuery;
  toolNames: readonly string[];
  failure?: Failure;
}

const LABELS = { tool: 'Tool', state: 'Outcome', from: 'First day (UTC)', to: 'Last day (UTC)' };
const PATH = '/dashboard/calls';
const TONES = { charged: 'good', refunded: 'bad', refused: 'bad', running: 'plain' } as const;

const outcome = ({ state, code }: CallRow): Html =>
  html`${badge(state, TONES[state])}${
    code === null ? null : html` <a href="/docs/errors#${code}"><code>${code}</code></a>`
  }`;

function filterForm({ query, toolNames, ...page }: CallsPage): Html {
  const failure = page.failure ?? null;
  const option = (value: string) => ({ value, label: value });
  const any = { value: '', label: 'any' };
  return html`<form class="filter" method="get" action="${PATH}">
${selectField({ name: 'tool', label: LABELS.tool, value: query.tool, options: [any, ...toolNames.map(option)], failure })}
${selectField({
  name: 'state',
  label: LABELS.state,
  value: query.state,
  options: [any, ...callSchema.properties.state.enum.map(option)],
  failure,
})}
${inputField({ name: 'from', label: LABELS.from, type: 'date', value: query.from, failure })}
${inputField({ name: 'to', label: LABELS.to, type: 'date', value: query.to, failure })}
<button class="plain">Show</button>
</form>`;
}

const callTable = (calls: readonly CallRow[]): Html =>
  table<CallRow>(
    'Calls, newest first',
    [
      { title: 'Accepted', cell: ({ startedAt }) => moment(startedAt) },
      { title: 'Tool', cell: ({ tool }) => html`<a href="/dashboard/tools/${tool}">${tool}</a>` },
      { title: 'Outcome', cell: outcome },
      { title: 'Charged', numeric: true, cell: ({ charged }) => charged },
      {
        title: 'Duration',
        numeric: true,
        cell: ({ durationMs }) => (durationMs === null ? '–' : duration(durationMs)),
      },
      {
        title: 'Key',
        cell: ({ keyPrefix }) => (keyPrefix === null ? 'dashboard' : html`<code>${keyPrefix}</code>`),
      },
    ],
    calls,
  );

/** The calls of an account, with a filter. */
export function callsPage(page: CallsPage): string {
  const { viewer, calls, cursor, query } = page;
  const asked = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
  const nothing =
    Object.keys(asked).length > 0
      ? html`<p>No calls match. <a href="${PATH}">Show all calls</a>.</p>`
      : html`<p>There are no calls yet. <a href="/dashboard/tools">Try a tool</a> here, or
<a href="/dashboard/keys">create a key</a> and call one from a program.</p>`;
  return layout({
    title: 'Calls',
    menu: { viewer, section: 'Calls' },
    main: html`${alert(page.failure ?? null, LABELS)}
${filterForm(page)}
${calls.items.length === 0 ? empty(nothing) : callTable(calls.items)}
${pager({ path: PATH, query: asked, cursor, nextCursor: calls.nextCursor })}`,
  });
}
