import { randomUUID } from 'node:crypto';
import { MAX_CREDITS } from '../../billing/adjustment.ts';
import { CommandError } from '../addresses.ts';
import { UsageError } from '../arguments.ts';
import { ACCOUNT, type Command, requireAccount } from '../command.ts';
import { dispatchEventsNow } from '../temporal.ts';

export const adjust: Command = {
  name: 'adjust',
  about: 'Adds or takes credits. What cannot be taken becomes a shortfall, which suspends the account.',
  options: {
    account: ACCOUNT,
    credits: { value: '±N', about: 'Credits to add, or to take when below zero.', required: true },
    reason: { value: 'R', about: 'Why; kept with the adjustment.', required: true },
    reference: {
      value: 'X',
      about: 'Makes it happen once, however often it is tried. Default: a random one.',
    },
  },
  prepare(values) {
    const accountId = values.text('account');
    const amount = values.requiredInteger('credits', -MAX_CREDITS, MAX_CREDITS);
    if (amount === 0) throw new UsageError('--credits: 0 changes nothing');
    const reason = values.text('reason');
    const reference = values.optional('reference') ?? randomUUID();
    return async (books) => {
      await requireAccount(books, accountId);
      const grant = { accountId, type: 'adjustment', amount, reference, reason } as const;
      const { balance, shortfall, requested } = await books.accounts.grant(grant);
      if (requested !== amount)
        throw new CommandError(
          `reference ${JSON.stringify(reference)} was used for ${requested} credits; nothing was changed`,
        );
      await dispatchEventsNow(books.env, accountId);
      return { balance, shortfall };
    };
  },
};
