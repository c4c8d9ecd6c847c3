import { createKey, listKeys, revokeKey } from '../../schemas/account.ts';
import type { Serve } from '../http/operation.ts';
import type { Keys } from './keyService.ts';

export function keyRoutes(serve: Serve, keys: Keys): void {
  serve(listKeys, ({ caller, query }) => keys.list(caller.account._id, query));
  serve(createKey, ({ caller, body }) => keys.create(caller.account._id, body));
  serve(revokeKey, async ({ caller, id }) => {
    await keys.revoke(caller.account._id, id);
    return undefined;
  });
}
