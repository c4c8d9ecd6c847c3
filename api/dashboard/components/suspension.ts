import type { Account } from '../../../store/accountDocs.ts';
import type { Html } from '../html.ts';
import { alert } from './alert.ts';
import { count } from './text.ts';

/** Explains the suspension of an account and its shortfall; null when the account is not suspended. */
export const suspension = ({ shortfall }: Pick<Account, 'shortfall'>): Html | null =>
  shortfall === 0
    ? null
    : alert({
        message: `This account is suspended: ${count(shortfall, 'credit')} of an adjustment or a refund could not be deducted. Calls are refused until new credits cover the shortfall.`,
        faults: [],
      });
