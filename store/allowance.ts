import type { Accounts } from './accounts.ts';
import type { Store } from './mongo.ts';

const BATCH = 200;

/** The calendar month in UTC, like `2026-11`. */
export const monthOf = (time: Date): string => time.toISOString().slice(0, 7);

/**
 * Grants every account its allowance for a month, once: the month is the reference of the grant, so this may be stopped
 * and begun again, and run several times at once. Months that were missed are not made up for.
 *
 * @yields the id of each account that was granted something, once it has it
 */
export async function* grantAllowances(
  store: Store,
  accounts: Accounts,
  month: string,
): AsyncGenerator<string, void, void> {
  for (;;) {
    const due = await store.accounts
      // Not a later month either: some worker's clock may be a moment behind.
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
      // After the grant: who ends in between is given it a second time, which changes nothing.
      await store.accounts.updateOne({ _id: accountId }, { $max: { allowanceMonth: month } });
      yield accountId;
    }
  }
}
