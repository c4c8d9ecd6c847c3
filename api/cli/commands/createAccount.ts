import { isEmail } from '../../auth/isEmail.ts';
import { MAX_CREDITS } from '../../billing/adjustment.ts';
import { UsageError } from '../arguments.ts';
import type { Command } from '../command.ts';

export const createAccount: Command = {
  name: 'create-account',
  about:
    'Creates an account with one API key of scope "tools" and one of scope "account". The keys are shown only once.',
  options: {
    email: { value: 'E', about: 'Email address of the owner.', required: true },
    credits: { value: 'N', about: 'Number of credits that the account starts with. Default: FREE_CREDITS.' },
  },
  prepare(values) {
    const email = values.text('email');
    if (!isEmail(email))
      throw new UsageError(`--email must be an email address, not ${JSON.stringify(email)}`);
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
