import { Readable } from 'node:stream';
import type { AccountAudit } from '../../../../store/ledger/audit.ts';
import { auditAccount } from '../../../../store/ledger/audit.ts';
import { statement } from '../../../account/ledgerRoutes.ts';
import { entryRow } from '../../../account/rows.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { sendPage, type Visit } from '../../frame/pageRouter.ts';
import { pageOf } from '../../frame/query.ts';
import { AUDIT_PATH, LEDGER_PATH, ledgerPage } from './view.ts';

/** Registers the pages of the statement, its CSV file and its audit. */
export function ledgerRoutes({ pages, core: { lists, store } }: Dashboard): void {
  async function show({ ctx, viewer }: Visit, audit?: AccountAudit): Promise<void> {
    const page = pageOf(ctx);
    const { items, nextCursor } = await lists.entries(viewer.account._id, page);
    const lines = items.map((entry) => ({ ...entryRow(entry), byOperator: entry.operator !== undefined }));
    const entries = { items: lines, nextCursor };
    sendPage(ctx, ledgerPage({ viewer, entries, cursor: page.cursor, ...(audit && { audit }) }));
  }

  pages.get(LEDGER_PATH, (visit) => show(visit));

  const recompute = async (visit: Visit) => {
    const audit = await auditAccount(store, visit.viewer.account._id);
    await show(visit, audit ?? undefined);
  };
  pages.post(AUDIT_PATH, recompute, { page: () => LEDGER_PATH });

  pages.get('/dashboard/ledger/statement.csv', async ({ ctx, viewer }) => {
    ctx.attachment('ledger.csv');
    ctx.type = 'text/csv';
    ctx.body = Readable.from(statement(await lists.statement(viewer.account._id)));
  });
}
