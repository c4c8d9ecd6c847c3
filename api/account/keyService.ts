import type { KeyRow, NewKeyBody } from '../../schemas/accountRows.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { ApiKeys } from '../../store/apiKeys.ts';
import type { Lists } from '../../store/lists.ts';
import type { Page, PageRequest } from '../../store/pages.ts';
import type { DispatchEvents } from '../webhooks/startDispatch.ts';
import { newKey } from './newKey.ts';
import { keyRow } from './rows.ts';

/** What an owner does with keys; the Account API and the dashboard both call this. */
export interface Keys {
  list(accountId: string, page: PageRequest): Promise<Page<KeyRow>>;
  /**
   * @param id of the key, where who asks wants it once however often it is asked for
   * @throws ServiceError invalid_input, limit_reached
   * @throws what `isDuplicate` recognises: there is a key of this id
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
    const wanted = newKey(accountId, body, registry);
    const { row, key } = await apiKeys.create({ ...wanted, ...(id !== undefined && { id }) });
    dispatchEvents(accountId);
    return { ...keyRow(row), key };
  },

  async revoke(accountId, id) {
    await apiKeys.revoke(accountId, id);
    dispatchEvents(accountId);
  },
});
