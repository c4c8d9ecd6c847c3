import { BATCH_KEPT_HOURS, MAX_ROWS } from '../../../../schemas/batches.ts';
import type { BatchDoc } from '../../../../store/batches/batchDocs.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { alert, empty, type Failure } from '../../components/alert.ts';
import { icon } from '../../components/icons.ts';
import { pager } from '../../components/pager.ts';
import { suspension } from '../../components/suspension.ts';
import { table } from '../../components/table.ts';
import { moment, number } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { BATCHES_PATH, batchPath, NEW_BATCH_PATH } from './paths.ts';
import { batchBadge, endedRows } from './state.ts';

interface BatchesPage {
  viewer: Viewer;
  batches: Page<BatchDoc>;
  cursor: string | undefined;
  failure?: Failure;
}

/** Names of the tools of a batch, which can be many. */
export const toolsOf = ({ tools }: BatchDoc): string =>
  tools.length === 1 ? (tools[0] ?? '') : `${tools.length} tools`;

const batchTable = (batches: readonly BatchDoc[]): Html =>
  table<BatchDoc>(
    'Batches, newest first',
    [
      {
        title: 'Created',
        cell: ({ _id, createdAt }) =>
          html`<a href="${batchPath(_id)}">${moment(createdAt.toISOString())}</a>`,
      },
      { title: 'Tool', cell: toolsOf },
      { title: 'State', cell: batchBadge },
      { title: 'Rows', numeric: true, cell: ({ rows }) => number(rows) },
      { title: 'Ended', numeric: true, cell: (batch) => number(endedRows(batch)) },
      { title: 'Failed', numeric: true, cell: ({ refused }) => number(refused) },
      { title: 'Credits', numeric: true, cell: ({ credits }) => number(credits) },
      {
        title: 'Key',
        isLabelled: true,
        cell: ({ keyPrefix }) => (keyPrefix === null ? 'dashboard' : html`<code>${keyPrefix}</code>`),
      },
    ],
    batches,
    { isCompact: true },
  );

/** The batches of an account. */
export const batchesPage = ({ viewer, batches, cursor, failure }: BatchesPage): string =>
  layout({
    title: 'Batches',
    menu: { viewer, section: 'Batches' },
    actions: html`<a class="button" href="${NEW_BATCH_PATH}">${icon('upload')}New batch</a>`,
    main: html`${alert(failure ?? null)}${suspension(viewer.account)}
<p class="lead">A batch runs a tool for each row of a file, up to ${number(MAX_ROWS)} rows. Each row is charged like a call; rows that fail are not charged.</p>
${
  batches.items.length === 0
    ? empty(
        html`<p>There are no batches. <a href="${NEW_BATCH_PATH}">Create one</a> from a CSV file here, or <a href="/docs/batches">from a program</a>.</p>`,
      )
    : batchTable(batches.items)
}
${pager({ path: BATCHES_PATH, query: {}, cursor, nextCursor: batches.nextCursor })}
<p class="quiet">Batches and their results are kept for ${BATCH_KEPT_HOURS} hours after their end.</p>`,
  });
