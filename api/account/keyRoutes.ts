import { changeKey, createKey, getKey, listKeys, revokeKey, rotateKey } from '../../schemas/account.ts';
import type { Serve } from '../http/operation.ts';
import type { Keys } from './keyService.ts';

export function keyRoutes(serve: Serve, keys: Keys): void {
  serve(listKeys, ({ caller, query }) => keys.list(caller.account._id, query));
  serve(createKey, ({ caller, body }) => keys.create(caller.account._id, body));
  serve(getKey, ({ caller, id }) => keys.get(caller.account._id, id));
  serve(changeKey, ({ caller, id, body }) => keys.change(caller.account._id, id, body));
  serve(rotateKey, ({ caller, id, body }) => keys.rotate(caller.account._id, id, body));
  serve(revokeKey, async ({ caller, id }) => {
    await keys.revoke(caller.account._id, id);
    return undefined;
  });
}
