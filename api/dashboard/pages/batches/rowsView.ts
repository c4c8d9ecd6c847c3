import { ERRORS, isErrorCode } from '../../../../schemas/errors.ts';
import type { BatchDoc } from '../../../../store/batches/batchDocs.ts';
import type { RowOutcome } from '../../../../store/batches/rowPages.ts';
import type { JobDoc } from '../../../../store/jobs/jobDocs.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { empty } from '../../components/alert.ts';
import { pager } from '../../components/pager.ts';
import { type Column, table } from '../../components/table.ts';
import { badge, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { jobPath } from '../jobs/paths.ts';
import { batchPath } from './paths.ts';
import { endedRows } from './state.ts';

export interface ShownRows {
  rows: Page<JobDoc>;
  /** Null: rows of all outcomes. */
  outcome: RowOutcome | null;
  cursor: string | undefined;
}

/** The outcomes of rows in words. */
const OUTCOMES = {
  queued: ['waiting', 'plain'],
  running: ['running', 'plain'],
  succeeded: ['charged', 'good'],
  failed: ['failed', 'bad'],
  cancelled: ['cancelled', 'plain'],
} as const;

function outcomeOf({ state, code }: JobDoc): Html {
  const [word, tone] = OUTCOMES[state];
  if (state !== 'failed' || code === null) return badge(word, tone);
  const title = isErrorCode(code) ? html` ${ERRORS[code].title}` : null;
  return html`${badge(word, tone)}${title} <a href="/docs/errors#${code}"><code>${code}</code></a>`;
}

function columnsOf(batch: BatchDoc, rows: readonly JobDoc[]): Column<JobDoc>[] {
  const hasIds = rows.some(({ rowId }) => rowId != null);
  return [
    { title: 'Row', cell: ({ _id, row = 0 }) => html`<a href="${jobPath(_id)}">Row ${number(row)}</a>` },
    ...(hasIds ? [{ title: 'Id', cell: ({ rowId }: JobDoc) => (rowId == null ? null : typed(rowId)) }] : []),
    ...(batch.tools.length > 1 ? [{ title: 'Tool', cell: ({ tool }: JobDoc) => tool }] : []),
    { title: 'Outcome', cell: outcomeOf },
    { title: 'Credits', numeric: true, cell: ({ charged }) => number(charged) },
    {
      title: 'Ended',
      isLabelled: true,
      cell: ({ endedAt }) => moment(endedAt?.toISOString() ?? null, 'not yet'),
    },
  ];
}

const countsOf = (batch: BatchDoc): Record<RowOutcome, number> => ({
  charged: batch.charged,
  refused: batch.refused,
  cancelled: batch.cancelled,
  open: batch.rows - endedRows(batch),
});

/** Links that select the rows of an outcome. */
function filter(batch: BatchDoc, outcome: RowOutcome | null): Html {
  const path = batchPath(batch._id);
  const link = (name: string, href: string, isCurrent: boolean) =>
    html`<li><a href="${href}#rows"${isCurrent ? html` aria-current="true"` : null}>${name}</a></li>
`;
  return html`<nav class="segments" aria-label="Outcome"><ul>
${link(`all ${number(batch.rows)}`, path, outcome === null)}${Object.entries(countsOf(batch)).map(
  ([name, rows]) =>
    link(
      `${name === 'refused' ? 'failed' : name} ${number(rows)}`,
      `${path}?outcome=${name}`,
      name === outcome,
    ),
)}</ul></nav>`;
}

/** The rows of a batch by outcome, in the order of the file. */
export function rowsView(batch: BatchDoc, { rows, outcome, cursor }: ShownRows): Html {
  const { items, nextCursor } = rows;
  return html`<section aria-labelledby="rows"><div class="head"><h2 id="rows">Rows</h2>${filter(batch, outcome)}</div>
${
  items.length === 0
    ? empty(html`<p>There are no such rows.</p>`)
    : table<JobDoc>('Rows in the order of the file', columnsOf(batch, items), items, {
        isNamed: true,
        isCompact: true,
      })
}
${pager({
  path: batchPath(batch._id),
  query: outcome === null ? {} : { outcome },
  cursor,
  nextCursor,
  labels: { first: 'First rows', next: 'Next rows' },
})}
<p class="quiet">The first row after the header has the number 0, as in the downloads.</p>
</section>`;
}
