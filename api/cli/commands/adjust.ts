import { randomUUID } from 'node:crypto';
import { MAX_CREDITS } from '../../billing/adjustment.ts';
import { CommandError } from '../addresses.ts';
import { UsageError } from '../arguments.ts';
import { ACCOUNT, type Command, requireAccount } from '../command.ts';

export const adjust: Command = {
  name: 'adjust',
  about:
    'Adds or deducts credits. Credits that cannot be deducted become a shortfall, which suspends the account.',
  options: {
    account: ACCOUNT,
    credits: {
      value: '±N',
      about: 'Number of credits to add; a negative number deducts credits.',
      required: true,
    },
    reason: { value: 'R', about: 'Reason for the adjustment, which is stored with it.', required: true },
    reference: {
      value: 'X',
      about:
        'Reference of the adjustment. Each reference is applied only once, so the command can be repeated. Default: a random one.',
    },
  },
  prepare(values) {
    const accountId = values.text('account');
    const amount = values.requiredInteger('credits', -MAX_CREDITS, MAX_CREDITS);
    if (amount === 0) throw new UsageError('--credits must not be 0');
    const reason = values.text('reason');
    const reference = values.optional('reference') ?? randomUUID();
    return async (context) => {
      await requireAccount(context, accountId);
      const by = { type: 'adjustment', operator: 'command line' } as const;
      const grant = { accountId, amount, reference, reason, ...by };
      const { balance, shortfall, requested } = await context.accounts.grant(grant);
      if (requested !== amount)
        throw new CommandError(
          `reference ${JSON.stringify(reference)} was used for ${requested} credits; nothing was changed. Use another reference`,
        );
      return { balance, shortfall };
    };
  },
};
