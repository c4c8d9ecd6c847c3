import type { Account } from '../../../store/mongo.ts';
import type { Html } from '../../html.ts';
import { alert } from './alert.ts';
import { count } from './text.ts';

/** Why no call is taken, and how much is owed; null for an account that owes nothing. */
export const suspension = ({ shortfall }: Pick<Account, 'shortfall'>): Html | null =>
  shortfall === 0
    ? null
    : alert({
        message: `This account is suspended: ${count(shortfall, 'credit')} of an adjustment or a refund could not be taken. Calls are refused until new credits settle it.`,
        faults: [],
      });
