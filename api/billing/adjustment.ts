import { type Fault, invalidInput } from '../../schemas/errors.ts';
import type { Accounts, Granted } from '../../store/accounts.ts';
import type { DispatchEvents } from '../webhooks/startDispatch.ts';

/** Far above any sane account, far below where sums of doubles go wrong. */
export const MAX_CREDITS = 1_000_000_000;

const REASON_LENGTH = 500;

/** What an operator changes by hand. The same reference is applied once, however often it is tried. */
export interface Adjustment {
  accountId: string;
  amount: number;
  reason: string;
  reference: string;
}

/** @throws ServiceError invalid_input: no amount, no reason, a reference of another amount; not_found: no such account */
export async function adjust(
  { accounts, dispatchEvents }: { accounts: Accounts; dispatchEvents: DispatchEvents },
  { accountId, amount, reason, reference }: Adjustment,
): Promise<Granted> {
  const faults: Fault[] = [];
  if (!Number.isInteger(amount) || amount === 0 || Math.abs(amount) > MAX_CREDITS)
    faults.push({
      pointer: '/amount',
      message: `must be a whole number other than 0, at most ${MAX_CREDITS}`,
    });
  if (reason.trim() === '' || reason.length > REASON_LENGTH)
    faults.push({ pointer: '/reason', message: `must be said, in at most ${REASON_LENGTH} characters` });
  if (faults.length > 0) throw invalidInput(faults);
  const granted = await accounts.grant({ accountId, type: 'adjustment', amount, reason, reference });
  if (granted.requested !== amount)
    throw invalidInput([{ pointer: '/reference', message: 'was used for another amount' }]);
  dispatchEvents(accountId);
  return granted;
}
