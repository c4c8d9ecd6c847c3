import type { Accounts } from '../accounts/accounts.ts';
import type { Store } from '../mongo/mongo.ts';

const BATCH = 200;

/** The calendar month in UTC, like `2026-11`. */
export const monthOf = (time: Date): string => time.toISOString().slice(0, 7);

/**
 * Grants every account its allowance for a month, once. The month is the reference of the grant, so this can be
 * repeated and run concurrently. Earlier months for which nothing was granted are not made up for.
 *
 * @yields the id of each account after its grant
 */
export async function* grantAllowances(
  store: Store,
  accounts: Accounts,
  month: string,
): AsyncGenerator<string, void, void> {
  for (;;) {
    const due = await store.accounts
      // Also skips accounts that already have the allowance of a later month, because this worker's clock may be
      // behind another worker's.
      .find({ monthlyAllowance: { $gt: 0 }, allowanceMonth: { $not: { $gte: month } } })
      .project<{ _id: string; monthlyAllowance: number }>({ monthlyAllowance: 1 })
      .limit(BATCH)
      .toArray();
    if (due.length === 0) return;
    for (const { _id: accountId, monthlyAllowance } of due) {
      await accounts.grant({
        accountId,
        type: 'allowance',
        amount: monthlyAllowance,
        reference: month,
        reason: null,
      });
      // Written after the grant: if the process dies in between, the grant is repeated, which changes nothing.
      await store.accounts.updateOne({ _id: accountId }, { $max: { allowanceMonth: month } });
      yield accountId;
    }
  }
}
