import {
  type CallRow,
  call as callSchema,
  type KeyRow,
  type RefusalRow,
} from '../../../../schemas/accountRows.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { DASHBOARD } from '../../../account/callExport.ts';
import { alert, empty, type Failure } from '../../components/alert.ts';
import { inputField, selectField } from '../../components/field.ts';
import { pager } from '../../components/pager.ts';
import { table } from '../../components/table.ts';
import { moment } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { REFUSED_PATH, refusalTable } from '../refused/view.ts';
import { CALLS_PATH, callPath, stateWord } from './callView.ts';
import { OUTCOME_COLUMNS } from './columns.ts';
import { keepingForm } from './contentsView.ts';

/** Values of the filter form; empty means any. */
export interface CallQuery {
  tool: string;
  state: string;
  /** Id of a key, or `DASHBOARD`. */
  key: string;
  /** First and last day in UTC, such as `2026-12-31`. */
  from: string;
  to: string;
}

export const CALLS_FILE_PATH = `${CALLS_PATH}/calls.csv`;

interface CallsPage {
  viewer: Viewer;
  calls: Page<CallRow>;
  /** The newest refused requests that match the filter. */
  refusals?: readonly RefusalRow[];
  cursor: string | undefined;
  query: CallQuery;
  toolNames: readonly string[];
  keys: readonly KeyRow[];
  failure?: Failure;
  /** `on` or `off` after a change of whether contents are kept. */
  contentsNews: string;
  /** An id that was searched for and not found. */
  unknownId?: string;
}

const LABELS = { tool: 'Tool', state: 'Outcome', key: 'Key', from: 'First day (UTC)', to: 'Last day (UTC)' };

const findForm = (
  unknownId = '',
): Html => html`<form class="filter" method="get" action="${CALLS_PATH}" role="search">
<div class="field wide"><label for="id">Find by call id or request id</label>
<input id="id" name="id" type="search" value="${unknownId}" autocomplete="off" spellcheck="false" placeholder="req_…"></div>
<button class="plain">Find</button>
</form>`;

function filterForm({ query, toolNames, keys, ...page }: CallsPage): Html {
  const failure = page.failure ?? null;
  const option = (value: string) => ({ value, label: value });
  const any = { value: '', label: 'any' };
  const keyOptions = keys.map(({ id, name, prefix }) => ({ value: id, label: `${name} (${prefix}…)` }));
  return html`<form class="filter" method="get" action="${CALLS_PATH}">
${selectField({ name: 'tool', label: LABELS.tool, value: query.tool, options: [any, ...toolNames.map(option)], failure })}
${selectField({
  name: 'state',
  label: LABELS.state,
  value: query.state,
  options: [any, ...callSchema.properties.state.enum.map((it) => ({ value: it, label: stateWord(it) }))],
  failure,
})}
${selectField({
  name: 'key',
  label: LABELS.key,
  value: query.key,
  options: [any, { value: DASHBOARD, label: 'dashboard' }, ...keyOptions],
  failure,
})}
${inputField({ name: 'from', label: LABELS.from, type: 'date', value: query.from, failure })}
${inputField({ name: 'to', label: LABELS.to, type: 'date', value: query.to, failure })}
<button class="plain">Show</button>
</form>`;
}

/** A table of calls, newest first. */
export const callTable = (
  calls: readonly CallRow[],
  caption = 'Calls, newest first',
  isNamed = false,
): Html =>
  table<CallRow>(
    caption,
    [
      {
        title: 'Accepted',
        cell: ({ id, startedAt }) => html`<a href="${callPath(id)}">${moment(startedAt)}</a>`,
      },
      { title: 'Tool', cell: ({ tool }) => html`<a href="/dashboard/tools/${tool}">${tool}</a>` },
      ...OUTCOME_COLUMNS,
    ],
    calls,
    { isNamed, isCompact: true },
  );

/** Link to a file with all calls that the filter selects. */
function exportLink(asked: Record<string, string>): Html {
  const search = new URLSearchParams(asked).toString();
  const href = search === '' ? CALLS_FILE_PATH : `${CALLS_FILE_PATH}?${search}`;
  return html`<a class="button" href="${href}" download>Download ${search === '' ? 'all' : 'these calls'} as CSV</a>`;
}

/** The newest refused requests, which are no calls. */
const refusedList = (refusals: readonly RefusalRow[]): Html | null =>
  refusals.length === 0
    ? null
    : html`<section aria-labelledby="refused"><div class="head"><h2 id="refused">Refused requests</h2><a href="${REFUSED_PATH}">All of the last 7 days</a></div>
${refusalTable(refusals, 'Requests that did not become a call, newest first')}</section>
<h2>Calls</h2>`;

/** The calls of an account, with a filter. */
export function callsPage(page: CallsPage): string {
  const { viewer, calls, cursor, query, unknownId } = page;
  // The heading above the calls, which the refused requests require, is their name.
  const hasHeading = (page.refusals ?? []).length > 0;
  const asked = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
  const nothing =
    Object.keys(asked).length > 0
      ? html`<p>No calls match. <a href="${CALLS_PATH}">Show all calls</a>.</p>`
      : html`<p>There are no calls yet. <a href="/dashboard/tools">Try a tool</a> here, or
<a href="/dashboard/keys">create a key</a> and call one from a program.</p>`;
  return layout({
    title: 'Calls',
    menu: { viewer, section: 'Calls' },
    ...(calls.items.length > 0 && { actions: exportLink(asked) }),
    main: html`${alert(page.failure ?? null, LABELS)}${
      unknownId === undefined
        ? null
        : alert({
            message:
              'No call of this account has this id. Of requests that were refused before they became a call, the newest of each kind are found for 7 days.',
            faults: [],
          })
    }
${findForm(unknownId)}
${filterForm(page)}
${refusedList(page.refusals ?? [])}
${calls.items.length === 0 ? empty(nothing) : callTable(calls.items, undefined, hasHeading)}
${pager({ path: CALLS_PATH, query: asked, cursor, nextCursor: calls.nextCursor })}
${keepingForm(viewer, page.contentsNews)}`,
  });
}
