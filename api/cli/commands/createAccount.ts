import { MAX_CREDITS } from '../../billing/adjustment.ts';
import { UsageError } from '../arguments.ts';
import type { Command } from '../command.ts';

/** Longest address that mail can be sent to (RFC 5321, 4.5.3.1.3, without its brackets). */
const EMAIL_LENGTH = 254;
const EMAIL = /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u;

export const createAccount: Command = {
  name: 'create-account',
  about: 'Opens an account with a key for the tools and one for itself; the keys are shown this once.',
  options: {
    email: { value: 'E', about: "Its owner's e-mail address.", required: true },
    credits: { value: 'N', about: 'Credits it starts with. Default: FREE_CREDITS.' },
  },
  prepare(values) {
    const email = values.text('email');
    if (!EMAIL.test(email) || email.length > EMAIL_LENGTH)
      throw new UsageError(`--email: ${JSON.stringify(email)} is no e-mail address`);
    const credits = values.integer('credits', 0, MAX_CREDITS);
    return async ({ env, accounts, apiKeys }) => {
      const account = await accounts.create({ email, credits: credits ?? env.FREE_CREDITS });
      const accountId = account._id;
      const key = { accountId, name: 'default', tools: null, expiresAt: null };
      const tools = await apiKeys.create({ ...key, scope: 'tools' });
      const own = await apiKeys.create({ ...key, scope: 'account' });
      return { accountId, apiKey: tools.key, accountKey: own.key };
    };
  },
};
