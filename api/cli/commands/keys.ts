import { type NewKeyBody, newKeyBody } from '../../../schemas/accountRows.ts';
import { newKey } from '../../account/newKey.ts';
import { keyRow } from '../../account/rows.ts';
import { createValidator } from '../../http/validator.ts';
import { ACCOUNT, type Command, loadTemporal, PAGE, pageOf, requireAccount } from '../command.ts';

const listKeys: Command = {
  name: 'keys list',
  about: 'Lists the API keys of an account, newest first, including revoked ones.',
  options: { account: ACCOUNT, ...PAGE },
  prepare(values) {
    const [id, page] = [values.text('account'), pageOf(values)];
    return async (context) => {
      await requireAccount(context, id);
      const { items, nextCursor } = await context.lists.keys(id, page);
      return { items: items.map(keyRow), nextCursor };
    };
  },
};

const createKey: Command = {
  name: 'keys create',
  about: 'Creates an API key, which is shown only once. Fires api_key.created.',
  options: {
    account: ACCOUNT,
    name: { value: 'NAME', about: 'Name of the key.', required: true },
    scope: { value: 'tools|account', about: 'Scope of the key. Default: tools.' },
    tools: { value: 'A,B,…', about: 'Names of the tools that the key may call. Default: all tools.' },
    expires: { value: 'TIME', about: 'When the key expires (ISO 8601 with offset). Default: never.' },
  },
  prepare(values) {
    const id = values.text('account');
    const body = createValidator()<NewKeyBody>(newKeyBody)({
      name: values.text('name'),
      scopes: [values.optional('scope') ?? 'tools'],
      tools: values.optional('tools')?.split(',') ?? null,
      expiresAt: values.optional('expires') ?? null,
    });
    return async (context) => {
      await requireAccount(context, id);
      const { row, key } = await context.apiKeys.create(newKey(id, body, context.registry));
      await (await loadTemporal()).dispatchEventsNow(context.env, id);
      return { ...keyRow(row), key };
    };
  },
};

const revokeKey: Command = {
  name: 'keys revoke',
  about: 'Revokes an API key permanently, effective from the next request. Fires api_key.revoked.',
  options: {
    account: ACCOUNT,
    key: { value: 'ID', about: 'Id of the key (not the key itself).', required: true },
  },
  prepare(values) {
    const [id, keyId] = [values.text('account'), values.text('key')];
    return async (context) => {
      await requireAccount(context, id);
      await context.apiKeys.revoke(id, keyId);
      await (await loadTemporal()).dispatchEventsNow(context.env, id);
      return { revoked: keyId };
    };
  },
};

export const keyCommands: readonly Command[] = [listKeys, createKey, revokeKey];
