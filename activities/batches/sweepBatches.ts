import type { BatchDoc } from '../../store/batches/batchDocs.ts';
import type { Batches } from '../../store/batches/batches.ts';
import type { BatchRows } from '../../store/batches/batchRows.ts';
import type { Store } from '../../store/mongo/mongo.ts';

/** Accounts whose queue has work for batches. */
export interface SweptBatches {
  /** The queue must run. */
  waiting: string[];
  /** The queue must make a further step, also if it runs. */
  unfinished: string[];
}

interface Dependencies {
  store: Pick<Store, 'batches' | 'accounts'>;
  batches: Pick<Batches, 'cancel' | 'resume'>;
  rows: Pick<BatchRows, 'discard' | 'hasOpen' | 'leftInChunks'>;
}

/** Age from which a batch that is still being created was left by a crash; no request takes that long. */
const CREATED_WITHIN_MS = 600_000;

/**
 * Creates the sweep of batches: deletes those whose creation was interrupted, cancels those whose time is over, continues those
 * that waited for credits, and finds the others that have work for the queue of their account.
 */
export function createBatchSweep({ store, batches, rows }: Dependencies) {
  /** Whether the account has the credits for which the batch waits. */
  async function hasCredits({ accountId, neededCredits }: BatchDoc): Promise<boolean> {
    if (neededCredits === null) return false;
    const account = await store.accounts.findOne(
      { _id: accountId },
      { projection: { balance: 1, reserved: 1, shortfall: 1 } },
    );
    return account !== null && account.shortfall === 0 && account.balance - account.reserved >= neededCredits;
  }

  return async function sweep(onStep: () => void): Promise<SweptBatches> {
    const swept: SweptBatches = { waiting: [], unfinished: [] };
    for await (const batch of store.batches.find({ endedAt: { $type: 'null' } })) {
      onStep();
      const { _id, accountId, state, expiresAt, createdAt } = batch;
      if (state === 'creating' || state === 'discarding') {
        if (createdAt.getTime() < Date.now() - CREATED_WITHIN_MS) await rows.discard(_id);
      } else if (state === 'cancelling') swept.unfinished.push(accountId);
      else if (expiresAt < new Date()) {
        await batches.cancel(_id);
        swept.unfinished.push(accountId);
      } else if (state === 'running') swept.waiting.push(accountId);
      else if (await hasCredits(batch)) {
        await batches.resume(_id);
        swept.unfinished.push(accountId);
      } else if (!(await rows.hasOpen(batch))) swept.unfinished.push(accountId);
      else if ((await rows.leftInChunks(batch, [])).length > 0) swept.waiting.push(accountId);
    }
    return swept;
  };
}
