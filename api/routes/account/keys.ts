import { createKey, listKeys, revokeKey } from '../../../schemas/account.ts';
import type { Registry } from '../../../schemas/registry.ts';
import type { ApiKeys } from '../../../store/apiKeys.ts';
import type { Lists } from '../../../store/lists.ts';
import { newKey } from '../../newKey.ts';
import type { Serve } from '../operation.ts';
import { keyRow } from './rows.ts';

interface Dependencies {
  lists: Lists;
  apiKeys: ApiKeys;
  registry: Registry;
}

export function keyRoutes(serve: Serve, { lists, apiKeys, registry }: Dependencies): void {
  serve(listKeys, async ({ caller, query }) => {
    const { items, nextCursor } = await lists.keys(caller.account._id, query);
    return { items: items.map(keyRow), nextCursor };
  });

  serve(createKey, async ({ caller, body }) => {
    const { row, key } = await apiKeys.create(newKey(caller.account._id, body, registry));
    return { ...keyRow(row), key };
  });

  serve(revokeKey, async ({ caller, id }) => {
    await apiKeys.revoke(caller.account._id, id);
    return undefined;
  });
}
