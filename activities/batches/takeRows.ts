import { randomUUID } from 'node:crypto';
import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { BatchRows } from '../../store/batches/batchRows.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import { budgetOf, exceededBudget } from '../../store/ledger/keySpend.ts';
import type { Store } from '../../store/mongo/mongo.ts';

interface Dependencies {
  store: Pick<Store, 'accounts'>;
  rows: Pick<BatchRows, 'claim' | 'release'>;
}

/**
 * Creates the function that claims rows for a chunk: `fresh` ones, and those that another attempt has `left`. Of fresh rows that the
 * account or the budget of its key does not suffice for, only the first stays: its reservation decides that the batch pauses.
 */
export function createTakeRows({ store, rows }: Dependencies) {
  /** Returns how many of these rows can be paid. */
  async function countPayable(
    { accountId }: BatchDoc,
    key: ApiKeyDoc | null,
    waiting: readonly JobDoc[],
  ): Promise<number> {
    const projection = { balance: 1, reserved: 1, shortfall: 1, keySpend: 1 };
    const account = await store.accounts.findOne({ _id: accountId }, { projection });
    if (account === null || account.shortfall > 0) return 0;
    const { balance, reserved, keySpend } = account;
    let price = 0;
    const first = waiting.findIndex(({ policy }) => {
      price += policy.price;
      const exceeds = key !== null && exceededBudget(budgetOf(key), keySpend, price, new Date()) !== null;
      return exceeds || price > balance - reserved;
    });
    return first < 0 ? waiting.length : first;
  }

  return async function take(
    batch: BatchDoc,
    key: ApiKeyDoc | null,
    ids: readonly string[],
  ): Promise<{ fresh: JobDoc[]; left: JobDoc[] }> {
    const { fresh, left } = await rows.claim(batch._id, ids, randomUUID());
    const count = Math.max(1, await countPayable(batch, key, fresh));
    await rows.release(fresh.slice(count));
    return { fresh: fresh.slice(0, count), left };
  };
}
