import { changeKey, createKey, getKey, listKeys, revokeKey, rotateKey } from '../../schemas/account.ts';
import type { Serve } from '../http/operation.ts';
import type { Keys } from './keyService.ts';

export function keyRoutes(serve: Serve, keys: Keys): void {
  serve(listKeys, ({ caller, query }) => keys.list(caller.account._id, query));
  serve(createKey, ({ caller, body, actor }) => keys.create(caller.account._id, body, actor));
  serve(getKey, ({ caller, id }) => keys.get(caller.account._id, id));
  serve(changeKey, ({ caller, id, body, actor }) => keys.change(caller.account._id, id, body, actor));
  serve(rotateKey, ({ caller, id, body, actor }) => keys.rotate(caller.account._id, id, body, actor));
  serve(revokeKey, async ({ caller, id, actor }) => {
    await keys.revoke(caller.account._id, id, actor);
    return undefined;
  });
}
