import type { AccountRow, CallRow, EntryRow, EventRow } from '../../../schemas/accountRows.ts';
import type { TestAccount } from '../../helpers/account.ts';

/** The records of an account as the Account API returns them. Lists start with the oldest item. */
export interface Records {
  account: AccountRow;
  calls: CallRow[];
  entries: EntryRow[];
  events: EventRow[];
}

interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

export async function readRecords(account: Pick<TestAccount, 'manage'>): Promise<Records> {
  const read = async <T>(path: string): Promise<T> => {
    const response = await account.manage(path);
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const readAll = async <T>(path: string): Promise<T[]> => {
    const items: T[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: Page<T> = await read(`${path}?limit=100${from}`);
      items.push(...page.items);
      cursor = page.nextCursor;
    }
    return items.reverse();
  };
  return {
    calls: await readAll<CallRow>('/api/v1/account/calls'),
    entries: await readAll<EntryRow>('/api/v1/account/ledger'),
    events: await readAll<EventRow>('/api/v1/account/events'),
    account: await read<AccountRow>('/api/v1/account'),
  };
}
