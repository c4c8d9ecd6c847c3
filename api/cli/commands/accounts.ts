import type { Account } from '../../../store/accounts/accountDocs.ts';
import { MAX_CREDITS } from '../../billing/adjustment.ts';
import { setMonthlyAllowance } from '../../billing/allowance.ts';
import { CommandError } from '../addresses.ts';
import { UsageError } from '../arguments.ts';
import { ACCOUNT, type Command, PAGE, pageOf, requireAccount } from '../command.ts';

/** Converts an account to the row that operators see, which has more fields than the one that owners see. */
const row = (account: Account) => ({
  id: account._id,
  email: account.email,
  createdAt: account.createdAt.toISOString(),
  balance: account.balance,
  reserved: account.reserved,
  available: account.balance - account.reserved,
  shortfall: account.shortfall,
  monthlyAllowance: account.monthlyAllowance,
});

const listAccounts: Command = {
  name: 'accounts list',
  about: 'Lists accounts, newest first.',
  options: { email: { value: 'E', about: 'Only the account with this email address.' }, ...PAGE },
  prepare(values) {
    const [email, page] = [values.optional('email'), pageOf(values)];
    return async ({ lists }) => {
      const { items, nextCursor } = await lists.accounts(email === undefined ? {} : { email }, page);
      return { items: items.map(row), nextCursor };
    };
  },
};

const showAccount: Command = {
  name: 'accounts show',
  about: 'Shows one account.',
  options: {
    account: { value: 'ID', about: 'Id of the account.' },
    email: { value: 'E', about: 'Email address of the owner; use it instead of --account.' },
  },
  prepare(values) {
    const [id, email] = [values.optional('account'), values.optional('email')];
    if (email !== undefined && id !== undefined)
      throw new UsageError('use either --account or --email, not both');
    if (email !== undefined)
      return async ({ accounts }) => {
        const account = await accounts.findByEmail(email);
        if (account === null)
          throw new CommandError(
            `there is no account for ${JSON.stringify(email)}; "accounts list" shows all accounts`,
          );
        return row(account);
      };
    if (id === undefined) throw new UsageError('--account ID or --email E is required');
    return async (context) => row(await requireAccount(context, id));
  },
};

const setAccount: Command = {
  name: 'accounts set',
  about: 'Changes the settings of an account.',
  options: {
    account: ACCOUNT,
    'monthly-allowance': {
      value: 'N',
      about: 'Number of credits granted each month, starting with the current month.',
      required: true,
    },
  },
  prepare(values) {
    const id = values.text('account');
    const monthlyAllowance = values.requiredInteger('monthly-allowance', 0, MAX_CREDITS);
    return async (context) => {
      await requireAccount(context, id);
      return row(await setMonthlyAllowance(context.accounts, id, monthlyAllowance));
    };
  },
};

export const accountCommands: readonly Command[] = [listAccounts, showAccount, setAccount];
