import { heartbeat } from '@temporalio/activity';
import { createAccounts } from '../../store/accounts/accounts.ts';
import { grantAllowances, monthOf } from '../../store/ledger/allowance.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { dispatchEvents, type EndpointNotifier } from '../../store/webhooks/dispatchEvents.ts';
import type { AllowanceActivities } from '../../workflows/types.ts';

export const createAllowanceActivities = (store: Store, notifier: EndpointNotifier): AllowanceActivities => ({
  async grantAllowances() {
    let granted = 0;
    for await (const accountId of grantAllowances(store, createAccounts(store), monthOf(new Date()))) {
      await dispatchEvents(store, accountId, notifier);
      granted++;
      heartbeat(granted);
    }
    return granted;
  },
});
