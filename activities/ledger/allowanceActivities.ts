import { heartbeat } from '@temporalio/activity';
import { createAccounts } from '../../store/accounts.ts';
import { grantAllowances, monthOf } from '../../store/allowance.ts';
import { type Channel, dispatchEvents } from '../../store/dispatchEvents.ts';
import type { Store } from '../../store/mongo.ts';
import type { AllowanceActivities } from '../../workflows/types.ts';

export const createAllowanceActivities = (store: Store, channel: Channel): AllowanceActivities => ({
  async grantAllowances() {
    let granted = 0;
    for await (const accountId of grantAllowances(store, createAccounts(store), monthOf(new Date()))) {
      await dispatchEvents(store, accountId, channel);
      granted++;
      heartbeat(granted);
    }
    return granted;
  },
});
