import type { EntryRow } from '../../../schemas/accountRows.ts';
import type { AccountAudit } from '../../../store/audit.ts';
import type { Page } from '../../../store/pages.ts';
import { type Html, html } from '../../html.ts';
import { alert, empty, notice } from '../components/alert.ts';
import { actionButton } from '../components/form.ts';
import { pager } from '../components/pager.ts';
import { table } from '../components/table.ts';
import { count, moment, number, typed } from '../components/text.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

interface LedgerPage {
  viewer: Viewer;
  entries: Page<EntryRow>;
  cursor: string | undefined;
  /** What the lines add up to, when that was asked for. */
  audit?: AccountAudit;
}

export const LEDGER_PATH = '/dashboard/ledger';
export const AUDIT_PATH = `${LEDGER_PATH}/recompute`;

const signed = (amount: number): string => (amount > 0 ? `+${number(amount)}` : number(amount));

const reason = ({ tool, reference }: EntryRow): Html =>
  tool === null ? typed(reference ?? '') : html`<a href="/dashboard/tools/${tool}">${tool}</a>`;

function verdict({ lines, balance, drift }: AccountAudit): Html {
  const sum = `${count(lines, 'line')} add up to ${count(balance, 'credit')}.`;
  if (drift.length === 0)
    return notice(
      html`<p>${sum} That is your balance; every running balance, every charge and its call, and every grant agree.</p>`,
    );
  return html`${alert({
    message: `${sum} Something does not agree; please tell us this:`,
    faults: drift.map(({ what, expected, found }) => ({
      pointer: '',
      message: `${what}: ${expected} expected, ${found} found`,
    })),
  })}`;
}

/** The statement: every change of the balance. */
export const ledgerPage = ({ viewer, entries, cursor, audit }: LedgerPage): string =>
  layout({
    title: 'Ledger',
    menu: { viewer, section: 'Ledger' },
    main: html`${audit === undefined ? null : verdict(audit)}
<p>Every change of your balance. The amounts of all lines add up to it.</p>
<div class="actions"><a class="button" href="${LEDGER_PATH}/statement.csv" download>Download all as CSV</a>
${actionButton(viewer, AUDIT_PATH, 'Recompute my balance')}</div>
${
  entries.items.length === 0
    ? empty(html`<p>No credits have come or gone yet. Each charged call will be a line here.</p>`)
    : table<EntryRow>(
        'Lines, newest first',
        [
          { title: 'When', cell: ({ at }) => moment(at) },
          { title: 'What', cell: ({ type }) => type },
          { title: 'For', cell: reason },
          { title: 'Amount', numeric: true, cell: ({ amount }) => signed(amount) },
          { title: 'Balance', numeric: true, cell: ({ balanceAfter }) => number(balanceAfter) },
        ],
        entries.items,
      )
}
${pager({ path: LEDGER_PATH, query: {}, cursor, nextCursor: entries.nextCursor })}`,
  });
