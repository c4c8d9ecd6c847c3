import type { KeyRow, NewKeyBody } from '../../schemas/accountRows.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ApiKeys } from '../../store/apiKeys.ts';
import type { Lists } from '../../store/lists.ts';
import type { Page, PageRequest } from '../../store/pages.ts';
import type { DispatchEvents } from '../webhooks/startDispatch.ts';
import { newKey } from './newKey.ts';
import { keyRow } from './rows.ts';

/** Operations on API keys, shared by the Account API and the dashboard. */
export interface Keys {
  list(accountId: string, page: PageRequest): Promise<Page<KeyRow>>;
  /**
   * @param id id of the new key, which makes the creation idempotent. Default: a new random id
   * @throws ServiceError invalid_input, limit_reached
   * @throws a duplicate key error (`isDuplicate`) if a key with this id exists
   */
  create(accountId: string, body: NewKeyBody, id?: string): Promise<KeyRow & { key: string }>;
  /** @throws ServiceError not_found */
  revoke(accountId: string, id: string): Promise<void>;
}

interface Dependencies {
  lists: Lists;
  apiKeys: ApiKeys;
  registry: Registry;
  dispatchEvents: DispatchEvents;
}

export const createKeys = ({ lists, apiKeys, registry, dispatchEvents }: Dependencies): Keys => ({
  async list(accountId, page) {
    const { items, nextCursor } = await lists.keys(accountId, page);
    return { items: items.map(keyRow), nextCursor };
  },

  async create(accountId, body, id) {
    const fields = newKey(accountId, body, registry);
    const { row, key } = await apiKeys.create({ ...fields, ...(id !== undefined && { id }) });
    dispatchEvents(accountId);
    return { ...keyRow(row), key };
  },

  async revoke(accountId, id) {
    await apiKeys.revoke(accountId, id);
    dispatchEvents(accountId);
  },
});
