import { getAccount, listCalls, listEvents } from '../../schemas/account.ts';
import { invalidInput } from '../../schemas/errors.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ApiKeys } from '../../store/apiKeys.ts';
import type { Lists } from '../../store/lists.ts';
import { keyRoutes } from './account/keys.ts';
import { ledgerRoutes } from './account/ledger.ts';
import { accountRow, callRow, eventRow } from './account/rows.ts';
import type { Serve } from './operation.ts';

interface Dependencies {
  lists: Lists;
  apiKeys: ApiKeys;
  registry: Registry;
}

/** JavaScript makes no date of a leap second, which a date-time may name. */
function asDate(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw invalidInput([{ pointer: `/${name}`, message: 'is no time' }]);
  return date;
}

/** The Account API, but for its webhooks. */
export function accountRoutes(serve: Serve, deps: Dependencies): void {
  const { lists } = deps;

  serve(getAccount, async ({ caller }) => accountRow(caller.account));

  serve(listCalls, async ({ caller, query }) => {
    const { from, to, tool, state, ...page } = query;
    const filter = { tool, state, from: asDate('from', from), to: asDate('to', to) };
    const { items, nextCursor } = await lists.calls(caller.account._id, filter, page);
    return { items: items.map(callRow), nextCursor };
  });

  serve(listEvents, async ({ caller, query }) => {
    const { items, nextCursor } = await lists.events(caller.account._id, query);
    return { items: items.map(eventRow), nextCursor };
  });

  ledgerRoutes(serve, lists);
  keyRoutes(serve, deps);
}
