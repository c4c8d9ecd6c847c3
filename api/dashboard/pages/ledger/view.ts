import type { EntryRow } from '../../../../schemas/accountRows.ts';
import type { AccountAudit } from '../../../../store/ledger/audit.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { alert, empty, notice } from '../../components/alert.ts';
import { actionButton } from '../../components/form.ts';
import { pager } from '../../components/pager.ts';
import { table } from '../../components/table.ts';
import { count, entryType, moment, number, signed, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

/** An entry, and whether an operator made it; owners are not told which one. */
interface LedgerLine extends EntryRow {
  byOperator: boolean;
}

interface LedgerPage {
  viewer: Viewer;
  entries: Page<LedgerLine>;
  cursor: string | undefined;
  /** Result of recomputing the balance, if requested. */
  audit?: AccountAudit;
}

export const LEDGER_PATH = '/dashboard/ledger';
export const AUDIT_PATH = `${LEDGER_PATH}/recompute`;

function reason({ tool, reference, byOperator }: LedgerLine): Html | null {
  if (tool !== null) return html`<a href="/dashboard/tools/${tool}">${tool}</a>`;
  const named = reference ? typed(reference) : null;
  return byOperator ? html`by an operator <span class="quiet">${named}</span>` : named;
}

function verdict({ lines, balance, drift }: AccountAudit): Html {
  const sum = `${count(lines, 'entry', 'entries')} add up to ${count(balance, 'credit')}.`;
  if (drift.length === 0)
    return notice(
      html`<p>${sum} This equals your balance. All running balances, charges and grants match.</p>`,
    );
  return html`${alert({
    message: `${sum} Something does not match. The service's own hourly check finds it too and warns its operator:`,
    faults: drift.map(({ what, expected, found }) => ({
      pointer: '',
      message: `${what}: ${expected} expected, ${found} found`,
    })),
  })}`;
}

/** The ledger: every change of the balance. */
export const ledgerPage = ({ viewer, entries, cursor, audit }: LedgerPage): string =>
  layout({
    title: 'Ledger',
    menu: { viewer, section: 'Ledger' },
    main: html`${audit === undefined ? null : verdict(audit)}
<p class="lead">Every change of your balance. The amounts of all entries add up to your balance.</p>
<div class="actions"><a class="button" href="${LEDGER_PATH}/statement.csv" download>Download all as CSV</a>
${actionButton(viewer, AUDIT_PATH, 'Recompute my balance')}</div>
${
  entries.items.length === 0
    ? empty(html`<p>There are no entries yet. Each charged call adds one.</p>`)
    : table<LedgerLine>(
        'Entries, newest first',
        [
          { title: 'When', cell: ({ at }) => moment(at) },
          { title: 'Type', cell: ({ type }) => entryType(type) },
          { title: 'For', cell: reason },
          { title: 'Amount', numeric: true, cell: ({ amount }) => signed(amount) },
          { title: 'Balance', numeric: true, cell: ({ balanceAfter }) => number(balanceAfter) },
        ],
        entries.items,
        { isCompact: true },
      )
}
${pager({ path: LEDGER_PATH, query: {}, cursor, nextCursor: entries.nextCursor })}`,
  });
