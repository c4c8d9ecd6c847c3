import { createKey, listKeys, revokeKey } from '../../../schemas/account.ts';
import type { Registry } from '../../../schemas/registry.ts';
import type { ApiKeys } from '../../../store/apiKeys.ts';
import type { Lists } from '../../../store/lists.ts';
import type { HandOver } from '../../handOver.ts';
import { newKey } from '../../newKey.ts';
import type { Serve } from '../operation.ts';
import { keyRow } from './rows.ts';

interface Dependencies {
  lists: Lists;
  apiKeys: ApiKeys;
  registry: Registry;
  handOver: HandOver;
}

export function keyRoutes(serve: Serve, { lists, apiKeys, registry, handOver }: Dependencies): void {
  serve(listKeys, async ({ caller, query }) => {
    const { items, nextCursor } = await lists.keys(caller.account._id, query);
    return { items: items.map(keyRow), nextCursor };
  });

  serve(createKey, async ({ caller, body }) => {
    const { row, key } = await apiKeys.create(newKey(caller.account._id, body, registry));
    handOver(row.accountId);
    return { ...keyRow(row), key };
  });

  serve(revokeKey, async ({ caller, id }) => {
    await apiKeys.revoke(caller.account._id, id);
    handOver(caller.account._id);
    return undefined;
  });
}
