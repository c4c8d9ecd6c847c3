import type { KeyChangeBody, KeyRotationBody, KeyRow, NewKeyBody } from '../../schemas/accountRows.ts';
import type { Registry } from '../../schemas/registry.ts';
import type { Account } from '../../store/accounts/accountDocs.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import type { Lists } from '../../store/accounts/lists.ts';
import type { Actor } from '../../store/accounts/securityLog.ts';
import type { ApiKeys } from '../../store/keys/apiKeys.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import type { Page, PageRequest } from '../../store/mongo/pages.ts';
import { keyChange, newKey } from './newKey.ts';
import { keyRow } from './rows.ts';

/**
 * Operations on API keys, shared by the Account API, the dashboard and the operator commands. The security log of the
 * account names the actor of each change.
 */
export interface Keys {
  list(accountId: string, page: PageRequest): Promise<Page<KeyRow>>;
  /** @throws ServiceError not_found */
  get(accountId: string, id: string): Promise<KeyRow>;
  /**
   * @param id id of the new key, which makes the creation idempotent. Default: a new random id
   * @throws ServiceError invalid_input, limit_reached
   * @throws a duplicate key error (`isDuplicate`) if a key with this id exists
   */
  create(accountId: string, body: NewKeyBody, actor: Actor, id?: string): Promise<KeyRow & { key: string }>;
  /** @throws ServiceError invalid_input, not_found, key_inactive */
  change(accountId: string, id: string, body: KeyChangeBody, actor: Actor): Promise<KeyRow>;
  /** @throws ServiceError not_found, key_inactive, rotation_pending */
  rotate(
    accountId: string,
    id: string,
    body: KeyRotationBody,
    actor: Actor,
  ): Promise<KeyRow & { key: string }>;
  /** @throws ServiceError not_found */
  revoke(accountId: string, id: string, actor: Actor): Promise<void>;
}

interface Dependencies {
  lists: Pick<Lists, 'keys'>;
  apiKeys: Omit<ApiKeys, 'authenticate' | 'recordUse' | 'flush'>;
  accounts: Pick<Accounts, 'find'>;
  registry: Registry;
}

const HOUR_MS = 3_600_000;

export function createKeys({ lists, apiKeys, accounts, registry }: Dependencies): Keys {
  /** The account, for the spend of its keys. */
  const accountOf = async (accountId: string): Promise<Pick<Account, 'keySpend'>> =>
    (await accounts.find(accountId)) ?? {};
  const toRow = async (accountId: string, key: ApiKeyDoc): Promise<KeyRow> =>
    keyRow(key, await accountOf(accountId));

  return {
    async list(accountId, page) {
      const { items, nextCursor } = await lists.keys(accountId, page);
      const account = await accountOf(accountId);
      return { items: items.map((key) => keyRow(key, account)), nextCursor };
    },

    get: async (accountId, id) => toRow(accountId, await apiKeys.find(accountId, id)),

    async create(accountId, body, actor, id) {
      const fields = newKey(accountId, body, registry);
      const { row, key } = await apiKeys.create({ ...fields, ...(id !== undefined && { id }) }, actor);
      return { ...(await toRow(accountId, row)), key };
    },

    async change(accountId, id, body, actor) {
      const { scope } = await apiKeys.find(accountId, id);
      const row = await apiKeys.change(accountId, id, keyChange(body, scope, registry), actor);
      return toRow(accountId, row);
    },

    async rotate(accountId, id, { overlapHours, force }, actor) {
      const rotation = { overlapMs: overlapHours * HOUR_MS, force };
      const { row, key } = await apiKeys.rotate(accountId, id, rotation, actor);
      return { ...(await toRow(accountId, row)), key };
    },

    async revoke(accountId, id, actor) {
      await apiKeys.revoke(accountId, id, actor);
    },
  };
}
