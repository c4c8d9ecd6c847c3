import { heartbeat } from '@temporalio/activity';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { grantAllowances, monthOf } from '../../store/ledger/allowance.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { AllowanceActivities } from '../../workflows/types.ts';

export const createAllowanceActivities = (store: Store): AllowanceActivities => ({
  async grantAllowances() {
    let granted = 0;
    for await (const _accountId of grantAllowances(store, createAccounts(store), monthOf(new Date())))
      heartbeat(++granted);
    return granted;
  },
});
