import type { AccountDoc } from '../../store/accounts/accountDocs.ts';
import type { CallDoc } from '../../store/calls/callDocs.ts';
import { audit, auditAccount, type Drift } from '../../store/ledger/audit.ts';
import { copyJournal } from '../../store/ledger/copyJournal.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { until } from './until.ts';

/**
 * Waits until no call runs and no credits are held, then recomputes the balance of every account from its entries. An
 * empty result means that the ledger has no drift.
 */
export async function auditWhenIdle(store: Store): Promise<Drift[]> {
  const { accounts, calls } = store;
  await until('no call runs', async () => (await calls.countDocuments({ state: 'running' })) === 0);
  // A late attempt to reserve, of a call that has ended, holds credits until it finds that out.
  const holding = { $or: [{ reserved: { $ne: 0 } }, { holds: { $ne: {} } }] };
  await until('no credits are held', async () => (await accounts.countDocuments(holding)) === 0);
  return (await audit(store)).drift;
}

/**
 * Waits until the account has no running call and holds no credits, then recomputes its balance. For stacks that other
 * test files use at the same time.
 */
export async function auditAccountWhenIdle(store: Store, accountId: string): Promise<Drift[]> {
  await until(
    'no call of the account runs',
    async () => (await store.calls.countDocuments({ accountId, state: 'running' })) === 0,
  );
  await untilHeld(store, accountId, 0);
  const result = await auditAccount(store, accountId);
  if (result === null) throw new Error(`no account ${accountId}`);
  return result.drift;
}

export async function accountOf({ accounts }: Store, accountId: string): Promise<AccountDoc> {
  const account = await accounts.findOne({ _id: accountId });
  if (account === null) throw new Error(`no account ${accountId}`);
  return account;
}

/**
 * Copies the pending journal entries, as every reader of the call list does, then returns the account's calls, oldest
 * first.
 */
export async function callsOf(store: Store, accountId: string): Promise<CallDoc[]> {
  await copyJournal(store, accountId);
  return store.calls.find({ accountId }).sort({ startedAt: 1, _id: 1 }).toArray();
}

/** Waits until credits are held for this many calls of the account, which means that their workflows have started. */
export const untilHeld = (store: Store, accountId: string, count: number): Promise<true> =>
  until(`${count} calls are held`, async () => {
    const { holds } = await accountOf(store, accountId);
    return Object.keys(holds).length === count;
  });
