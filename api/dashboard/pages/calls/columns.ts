import type { CallRow } from '../../../../schemas/accountRows.ts';
import type { Column } from '../../components/table.ts';
import { duration } from '../../components/text.ts';
import { html } from '../../frame/html.ts';
import { outcome } from './callView.ts';

/** The columns of a table of calls that owners and operators see alike. */
export const OUTCOME_COLUMNS: readonly Column<CallRow>[] = [
  { title: 'Outcome', cell: outcome },
  { title: 'Credits', numeric: true, cell: ({ charged }) => charged },
  {
    title: 'Duration',
    numeric: true,
    cell: ({ durationMs }) => (durationMs === null ? '–' : duration(durationMs)),
  },
  {
    title: 'Key',
    isLabelled: true,
    cell: ({ keyPrefix }) => (keyPrefix === null ? 'dashboard' : html`<code>${keyPrefix}</code>`),
  },
];
