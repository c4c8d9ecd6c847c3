import { Readable } from 'node:stream';
import { listLedger } from '../../schemas/account.ts';
import { ledgerEntry } from '../../schemas/accountRows.ts';
import type { EntryDoc } from '../../store/accounts/accountDocs.ts';
import type { Lists } from '../../store/accounts/lists.ts';
import { Download, type Serve } from '../http/operation.ts';
import { csvRecord } from './csv.ts';
import { entryRow } from './rows.ts';

const COLUMNS = ledgerEntry.required;

/** Generates the statement of an account as CSV, with a header line. */
export async function* statement(entries: AsyncIterable<EntryDoc>): AsyncGenerator<string> {
  yield csvRecord(COLUMNS);
  for await (const entry of entries) {
    const row = entryRow(entry);
    yield csvRecord(COLUMNS.map((column) => row[column]));
  }
}

/** Registers the route of the ledger: one page of entries as JSON, or the whole statement as CSV. */
export function ledgerRoutes(serve: Serve, lists: Lists): void {
  serve(listLedger, async ({ caller, query, as }) => {
    if (as !== null)
      return new Download('ledger.csv', Readable.from(statement(await lists.statement(caller.account._id))));
    const { items, nextCursor } = await lists.entries(caller.account._id, query);
    return { items: items.map(entryRow), nextCursor };
  });
}
