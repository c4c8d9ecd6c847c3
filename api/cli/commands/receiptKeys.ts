import { loadKeyring } from '../../../platform/secrets/keyring.ts';
import type { ReceiptKeyDoc } from '../../../store/receipts/receiptDocs.ts';
import { addReceiptKey, listReceiptKeys, revokeReceiptKey } from '../../../store/receipts/receiptKeys.ts';
import { CommandError } from '../addresses.ts';
import type { Command } from '../command.ts';

const keyRow = ({ _id, createdAt, revokedAt }: ReceiptKeyDoc) => ({
  id: _id,
  createdAt: createdAt.toISOString(),
  revokedAt: revokedAt?.toISOString() ?? null,
});

const listKeys: Command = {
  name: 'receipt-keys list',
  about: 'Lists the keys that sign the receipts of calls, oldest first, including revoked ones.',
  options: {},
  prepare:
    () =>
    async ({ store }) => ({ items: (await listReceiptKeys(store)).map(keyRow) }),
};

const rotateKey: Command = {
  name: 'receipt-keys rotate',
  about:
    'Adds a key that signs receipts from ten minutes later on. Receipts of the earlier keys stay valid until these are revoked.',
  options: {},
  prepare:
    () =>
    async ({ store, env }) =>
      keyRow(await addReceiptKey(store, loadKeyring(env))),
};

const revokeKey: Command = {
  name: 'receipt-keys revoke',
  about:
    'Revokes a key: receipts that it has signed can no longer be verified, and owners can request them again. If no other key is left, one is created.',
  options: { key: { value: 'ID', about: 'Id of the key, which receipts name as `kid`.', required: true } },
  prepare(values) {
    const id = values.text('key');
    return async ({ store }) => {
      if (!(await revokeReceiptKey(store, id)))
        throw new CommandError(`there is no receipt key ${JSON.stringify(id)}`);
      return { revoked: id };
    };
  },
};

export const receiptKeyCommands: readonly Command[] = [listKeys, rotateKey, revokeKey];
