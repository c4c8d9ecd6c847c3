import { invalidInput } from '../../schemas/errors.ts';
import type { Accounts } from '../../store/accounts.ts';
import type { Account } from '../../store/mongo.ts';
import { MAX_CREDITS } from './adjustment.ts';

/**
 * Sets what an account is granted each month. Where it was granted nothing this month yet, this month is the first.
 *
 * @throws ServiceError invalid_input: no such amount; not_found: no such account
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
