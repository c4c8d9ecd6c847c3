import type { Account } from '../../../store/mongo.ts';
import { MAX_CREDITS } from '../../billing/adjustment.ts';
import { setMonthlyAllowance } from '../../billing/allowance.ts';
import { CommandError } from '../addresses.ts';
import { UsageError } from '../arguments.ts';
import { ACCOUNT, type Command, PAGE, pageOf, requireAccount } from '../command.ts';

/** More than its owner is shown. */
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
  about: 'Shows the accounts, newest first.',
  options: { email: { value: 'E', about: 'Only the one with this e-mail address.' }, ...PAGE },
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
    account: { value: 'ID', about: 'Its id.' },
    email: { value: 'E', about: "Its owner's e-mail address, instead of the id." },
  },
  prepare(values) {
    const [id, email] = [values.optional('account'), values.optional('email')];
    if (email !== undefined && id !== undefined) throw new UsageError('give --account or --email, not both');
    if (email !== undefined)
      return async ({ accounts }) => {
        const account = await accounts.findByEmail(email);
        if (account === null) throw new CommandError(`there is no account for ${JSON.stringify(email)}`);
        return row(account);
      };
    if (id === undefined) throw new UsageError('--account ID or --email E is missing');
    return async (books) => row(await requireAccount(books, id));
  },
};

const setAccount: Command = {
  name: 'accounts set',
  about: "Changes an account's settings.",
  options: {
    account: ACCOUNT,
    'monthly-allowance': {
      value: 'N',
      about: 'Credits granted each month, from this one on.',
      required: true,
    },
  },
  prepare(values) {
    const id = values.text('account');
    const monthlyAllowance = values.requiredInteger('monthly-allowance', 0, MAX_CREDITS);
    return async (books) => {
      await requireAccount(books, id);
      return row(await setMonthlyAllowance(books.accounts, id, monthlyAllowance));
    };
  },
};

export const accountCommands: readonly Command[] = [listAccounts, showAccount, setAccount];
