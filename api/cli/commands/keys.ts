import { type NewKeyBody, newKeyBody } from '../../../schemas/accountRows.ts';
import { newKey } from '../../account/newKey.ts';
import { keyRow } from '../../account/rows.ts';
import { createValidator } from '../../http/validator.ts';
import { ACCOUNT, type Command, PAGE, pageOf, requireAccount } from '../command.ts';
import { dispatchEventsNow } from '../temporal.ts';

const listKeys: Command = {
  name: 'keys list',
  about: "Shows an account's keys, revoked ones included, newest first.",
  options: { account: ACCOUNT, ...PAGE },
  prepare(values) {
    const [id, page] = [values.text('account'), pageOf(values)];
    return async (books) => {
      await requireAccount(books, id);
      const { items, nextCursor } = await books.lists.keys(id, page);
      return { items: items.map(keyRow), nextCursor };
    };
  },
};

const createKey: Command = {
  name: 'keys create',
  about: 'Creates a key for an account; it is shown this once. Fires api_key.created.',
  options: {
    account: ACCOUNT,
    name: { value: 'NAME', about: 'What to call it.', required: true },
    scope: { value: 'tools|account', about: 'What it may do. Default: tools.' },
    tools: { value: 'A,B,…', about: 'Tools it may call. Default: all.' },
    expires: { value: 'TIME', about: 'When it stops working (ISO 8601, with offset). Default: never.' },
  },
  prepare(values) {
    const id = values.text('account');
    const body = createValidator()<NewKeyBody>(newKeyBody)({
      name: values.text('name'),
      scopes: [values.optional('scope') ?? 'tools'],
      tools: values.optional('tools')?.split(',') ?? null,
      expiresAt: values.optional('expires') ?? null,
    });
    return async (books) => {
      await requireAccount(books, id);
      const { row, key } = await books.apiKeys.create(newKey(id, body, books.registry));
      await dispatchEventsNow(books.env, id);
      return { ...keyRow(row), key };
    };
  },
};

const revokeKey: Command = {
  name: 'keys revoke',
  about: 'Revokes a key; it is refused from the next call on. Fires api_key.revoked.',
  options: { account: ACCOUNT, key: { value: 'ID', about: 'Id of the key (not the key).', required: true } },
  prepare(values) {
    const [id, keyId] = [values.text('account'), values.text('key')];
    return async (books) => {
      await requireAccount(books, id);
      await books.apiKeys.revoke(id, keyId);
      await dispatchEventsNow(books.env, id);
      return { revoked: keyId };
    };
  },
};

export const keyCommands: readonly Command[] = [listKeys, createKey, revokeKey];
