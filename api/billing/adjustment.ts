import { type Fault, invalidInput } from '../../schemas/errors.ts';
import type { Account, GrantOperator } from '../../store/accounts/accountDocs.ts';
import type { Accounts, Granted } from '../../store/accounts/accounts.ts';

/**
 * Maximum number of credits of one adjustment. Well above any realistic balance, and low enough that sums are exact
 * in double precision.
 */
export const MAX_CREDITS = 1_000_000_000;

/** Maximum length of the reason of an adjustment or a suspension, in UTF-16 code units. */
export const REASON_LENGTH = 500;

/** A change of credits that an operator makes manually. Each reference is applied once. */
interface Adjustment {
  accountId: string;
  amount: number;
  reason: string;
  reference: string;
  operator: GrantOperator;
}

/** @throws ServiceError invalid_input: invalid amount or reason */
export function checkAdjustment({ amount, reason }: Pick<Adjustment, 'amount' | 'reason'>): void {
  const faults: Fault[] = [];
  if (!Number.isInteger(amount) || amount === 0 || Math.abs(amount) > MAX_CREDITS)
    faults.push({
      pointer: '/amount',
      message: `must be a whole number from -${MAX_CREDITS} to ${MAX_CREDITS}, except 0`,
    });
  if (reason.trim() === '' || reason.length > REASON_LENGTH)
    faults.push({ pointer: '/reason', message: `must have 1 to ${REASON_LENGTH} characters` });
  if (faults.length > 0) throw invalidInput(faults);
}

/** Balance and shortfall after an adjustment, if no call ends in the meantime; see `Accounts.grant`. */
export function previewAdjustment(
  { balance, reserved, shortfall }: Pick<Account, 'balance' | 'reserved' | 'shortfall'>,
  amount: number,
): { balance: number; shortfall: number } {
  if (amount > 0) {
    const recovered = Math.min(amount, shortfall);
    return { balance: balance + amount - recovered, shortfall: shortfall - recovered };
  }
  const taken = Math.min(-amount, balance - reserved);
  return { balance: balance - taken, shortfall: shortfall - amount - taken };
}

/**
 * Validates and applies an adjustment.
 *
 * @throws ServiceError invalid_input: invalid amount or reason, or a reference that was used for another amount;
 *   not_found
 */
export async function adjust(
  accounts: Accounts,
  { accountId, amount, reason, reference, operator }: Adjustment,
): Promise<Granted> {
  checkAdjustment({ amount, reason });
  const type = 'adjustment';
  const granted = await accounts.grant({ accountId, type, amount, reason, reference, operator });
  if (granted.requested !== amount)
    throw invalidInput([{ pointer: '/reference', message: 'was used before with another amount' }]);
  return granted;
}
