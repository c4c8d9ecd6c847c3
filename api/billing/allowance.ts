import { invalidInput } from '../../schemas/errors.ts';
import type { Account } from '../../store/accounts/accountDocs.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { MAX_CREDITS } from './adjustment.ts';

/**
 * Sets the monthly allowance of an account. It also applies to the current month, unless that month's allowance has
 * already been granted.
 *
 * @throws ServiceError invalid_input, not_found
 */
export async function setMonthlyAllowance(
  accounts: Accounts,
  accountId: string,
  credits: number,
): Promise<Account> {
  if (!Number.isInteger(credits) || credits < 0 || credits > MAX_CREDITS)
    throw invalidInput([
      { pointer: '/monthlyAllowance', message: `must be a whole number from 0 to ${MAX_CREDITS}` },
    ]);
  return accounts.setMonthlyAllowance(accountId, credits);
}
