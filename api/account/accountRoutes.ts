import { Readable } from 'node:stream';
import { getAccount, listCalls, listEvents, listRefusals } from '../../schemas/account.ts';
import type { FileUsage, JobUsage } from '../../schemas/accountRows.ts';
import { invalidInput } from '../../schemas/errors.ts';
import type { Lists } from '../../store/accounts/lists.ts';
import { Download, type Serve } from '../http/operation.ts';
import { webhookRoutes } from '../webhooks/webhookRoutes.ts';
import type { Webhooks } from '../webhooks/webhookService.ts';
import { CALLS_FILE, callExport, keyIdOf } from './callExport.ts';
import { eventRows } from './eventRows.ts';
import { keyRoutes } from './keyRoutes.ts';
import type { Keys } from './keyService.ts';
import { ledgerRoutes } from './ledgerRoutes.ts';
import { accountRow, callRow, refusalRow } from './rows.ts';

interface Dependencies {
  lists: Lists;
  keys: Keys;
  webhooks: Webhooks;
  jobUsage(accountId: string): Promise<JobUsage>;
  fileUsage(accountId: string): Promise<FileUsage>;
}

/**
 * Parses a date-time. @throws ServiceError invalid_input for a leap second, which the schema accepts but `Date` does
 * not
 */
function asDate(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const date = new Date(text);
  if (Number.isNaN(date.getTime()))
    throw invalidInput([{ pointer: `/${name}`, message: 'is not a valid time' }]);
  return date;
}

export function accountRoutes(serve: Serve, deps: Dependencies): void {
  const { lists, jobUsage, fileUsage } = deps;

  serve(getAccount, async ({ caller: { account } }) => ({
    ...accountRow(account),
    jobs: await jobUsage(account._id),
    files: await fileUsage(account._id),
  }));

  serve(listCalls, async ({ caller, query, as }) => {
    const { from, to, tool, state, key, ...page } = query;
    const keyId = keyIdOf(key);
    const filter = { tool, state, keyId, from: asDate('from', from), to: asDate('to', to) };
    if (as !== null) {
      const calls = await lists.allCalls(caller.account._id, filter);
      return new Download(CALLS_FILE, Readable.from(callExport(calls)));
    }
    const { items, nextCursor } = await lists.calls(caller.account._id, filter, page);
    return { items: items.map(callRow), nextCursor };
  });

  serve(listRefusals, async ({ caller, query }) => {
    const { items, nextCursor } = await lists.refusals(caller.account._id, {}, query);
    return { items: items.map(refusalRow), nextCursor };
  });

  serve(listEvents, ({ caller, query }) => {
    const { event, state, ...page } = query;
    return eventRows(lists, caller.account._id, { event, state }, page);
  });

  ledgerRoutes(serve, lists);
  keyRoutes(serve, deps.keys);
  webhookRoutes(serve, deps.webhooks);
}
