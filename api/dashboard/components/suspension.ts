import type { Account } from '../../../store/accounts/accountDocs.ts';
import type { Html } from '../frame/html.ts';
import { alert } from './alert.ts';
import { count } from './text.ts';

/** Explains the suspension of an account: by an operator or its shortfall; null when the account is not suspended. */
export const suspension = ({
  shortfall,
  suspension,
}: Pick<Account, 'shortfall' | 'suspension'>): Html | null => {
  if (suspension !== undefined)
    return alert({
      message: `This account was suspended by an operator of the service: ${suspension.reason} Calls are refused; keys, settings and data stay. Contact the operator.`,
      faults: [],
    });
  return shortfall === 0
    ? null
    : alert({
        message: `This account is suspended: ${count(shortfall, 'credit')} of an adjustment or a refund could not be deducted. Calls are refused until new credits cover the shortfall.`,
        faults: [],
      });
};
