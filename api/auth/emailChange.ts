import { randomBytes } from 'node:crypto';
import { isRecord } from '../../schemas/isRecord.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { changeEmail, type EmailChange } from '../../store/accounts/userEmail.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { createUserRecords } from './userRecords.ts';

/** Changes of email addresses, which take effect when the owner follows a link that is mailed to the new address. */
export interface EmailChanges {
  /**
   * Stores a requested change. It expires after an hour, and when the password changes.
   *
   * @returns the token of the link; null if another user or account has the new address
   */
  request(user: { id: string; accountId: string; email: string }, email: string): Promise<string | null>;
  /** Returns the change that a token confirms; null if the token is unknown, used or expired. */
  find(token: string): Promise<EmailChange | null>;
  /** Makes a requested change, once. @returns null as `find`; `taken` if the address is now in use */
  confirm(token: string): Promise<EmailChange | 'taken' | null>;
}

interface Dependencies {
  store: Store;
  accounts: Pick<Accounts, 'findByEmail'>;
  records: Pick<
    ReturnType<typeof createUserRecords>,
    'findByEmail' | 'passwordMark' | 'createVerification' | 'findVerification' | 'consumeVerification'
  >;
}

interface StoredChange extends EmailChange {
  userId: string;
  passwordMark: string | null;
}

const TOKEN_BYTES = 32;
/** Form of a token: `TOKEN_BYTES` in base64url. */
const TOKEN = /^[\w-]{43}$/;

const identifierOf = (token: string): string => `change-email:${token}`;

function parse(text: string): StoredChange | null {
  const change: unknown = JSON.parse(text);
  if (!isRecord(change)) return null;
  const { userId, passwordMark, accountId, from, to } = change;
  if (typeof accountId !== 'string' || typeof from !== 'string' || typeof to !== 'string') return null;
  if (typeof userId !== 'string' || typeof passwordMark !== 'string') return null;
  return { userId, passwordMark, accountId, from, to };
}

export function createEmailChanges({ store, accounts, records }: Dependencies): EmailChanges {
  /** Returns the change if the password is still the one with which it was requested. */
  async function valid(text: string | null): Promise<EmailChange | null> {
    const change = text === null ? null : parse(text);
    if (change === null || change.passwordMark !== (await records.passwordMark(change.userId))) return null;
    const { accountId, from, to } = change;
    return { accountId, from, to };
  }

  return {
    async request({ id: userId, accountId, email: from }, email) {
      const to = email.toLowerCase();
      if ((await records.findByEmail(to)) !== null || (await accounts.findByEmail(to)) !== null) return null;
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const passwordMark = await records.passwordMark(userId);
      const change: StoredChange = { userId, passwordMark, accountId, from, to };
      await records.createVerification(identifierOf(token), JSON.stringify(change));
      return token;
    },

    find: async (token) =>
      TOKEN.test(token) ? valid(await records.findVerification(identifierOf(token))) : null,

    async confirm(token) {
      if (!TOKEN.test(token)) return null;
      const change = await valid(await records.consumeVerification(identifierOf(token)));
      if (change === null) return null;
      const outcome = await changeEmail(store, change);
      if (outcome === 'gone') return null;
      return outcome === 'taken' ? 'taken' : change;
    },
  };
}
