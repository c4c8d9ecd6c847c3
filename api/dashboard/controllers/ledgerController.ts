import { Readable } from 'node:stream';
import type { AccountAudit } from '../../../store/ledger/audit.ts';
import type { Lists } from '../../../store/mongo/lists.ts';
import { statement } from '../../account/ledgerRoutes.ts';
import { entryRow } from '../../account/rows.ts';
import { type PageRouter, sendPage, type Visit } from '../pageRouter.ts';
import { AUDIT_PATH, LEDGER_PATH, ledgerPage } from '../pages/ledgerPage.ts';
import { pageOf } from '../query.ts';

interface Dependencies {
  lists: Lists;
  /** Recomputes an account from its ledger entries; null if the account does not exist. */
  auditAccount(accountId: string): Promise<AccountAudit | null>;
}

/** Registers the pages of the statement, its CSV file and its audit. */
export function ledgerPages(pageRouter: PageRouter, { lists, auditAccount }: Dependencies): void {
  async function show({ ctx, viewer }: Visit, audit?: AccountAudit): Promise<void> {
    const page = pageOf(ctx);
    const { items, nextCursor } = await lists.entries(viewer.account._id, page);
    const lines = items.map((entry) => ({ ...entryRow(entry), byOperator: entry.operator !== undefined }));
    const entries = { items: lines, nextCursor };
    sendPage(ctx, ledgerPage({ viewer, entries, cursor: page.cursor, ...(audit && { audit }) }));
  }

  pageRouter.get(LEDGER_PATH, (visit) => show(visit));

  const recompute = async (visit: Visit) => {
    const audit = await auditAccount(visit.viewer.account._id);
    await show(visit, audit ?? undefined);
  };
  pageRouter.post(AUDIT_PATH, recompute, { page: () => LEDGER_PATH });

  pageRouter.get('/dashboard/ledger/statement.csv', async ({ ctx, viewer }) => {
    ctx.attachment('ledger.csv');
    ctx.type = 'text/csv';
    ctx.body = Readable.from(statement(await lists.statement(viewer.account._id)));
  });
}
