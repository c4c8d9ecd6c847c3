import type { Pool } from '../../schemas/pools.ts';
import { largestCounts } from '../mongo/counters.ts';
import type { Store } from '../mongo/mongo.ts';
import type { AccountDoc } from './accountDocs.ts';

/** The running calls, credits and storage that an account uses now. */
export interface Share {
  accountId: string;
  email: string;
  /** Calls with a hold, by pool; they hold or wait for a slot. */
  running: Partial<Record<Pool, number>>;
  /** Credits reserved for them. */
  reserved: number;
  /** Calls that ended without a charge in the current window of 24 hours. */
  uncharged: number;
  /** Bytes of the results that wait for replays. */
  keptBytes: number;
  /** Changes of keys and webhook endpoints in the current window of 24 hours. */
  changes: number;
  isSuspended: boolean;
  /** Until when the account may make no calls because too many ended without a charge; null if it may. */
  pausedUntil: Date | null;
}

/** Names of counters of accounts: `retention.ts` and `changeLimit.ts` of the API write them. */
const COUNTERS = { uncharged: 'uncharged', keptKb: 'kept-results', changes: 'account-change' } as const;
const KB = 1024;
/** Number of accounts that each figure contributes. */
const MOST = 50;

const runningOf = ({ running }: Pick<Share, 'running'>): number =>
  Object.values(running).reduce((sum, calls) => sum + calls, 0);

/**
 * Returns the accounts that hold most of the service now: those with running calls first, by their number, then those with
 * the most calls without a charge. For operators; reads a few hundred documents.
 */
export async function readShares(store: Store): Promise<Share[]> {
  const fields = { email: 1, running: 1, reserved: 1, suspension: 1, pausedUntil: 1 } as const;
  const [uncharged, keptKb, changes, holding] = await Promise.all([
    largestCounts(store, COUNTERS.uncharged, MOST),
    largestCounts(store, COUNTERS.keptKb, MOST),
    largestCounts(store, COUNTERS.changes, MOST),
    store.accounts.find({ reserved: { $gt: 0 } }, { projection: { _id: 1, running: 1 } }).toArray(),
  ]);
  const busiest = holding
    .sort((a, b) => runningOf(b) - runningOf(a))
    .slice(0, MOST)
    .map(({ _id }) => _id);
  const ids = new Set([...busiest, ...uncharged.keys(), ...keptKb.keys(), ...changes.keys()]);
  const accounts = await store.accounts
    .find<Pick<AccountDoc, '_id' | keyof typeof fields>>({ _id: { $in: [...ids] } }, { projection: fields })
    .toArray();
  return accounts
    .map(({ _id, email, running, reserved, suspension, pausedUntil }) => ({
      accountId: _id,
      email,
      running,
      reserved,
      uncharged: uncharged.get(_id) ?? 0,
      keptBytes: (keptKb.get(_id) ?? 0) * KB,
      changes: changes.get(_id) ?? 0,
      isSuspended: suspension !== undefined,
      pausedUntil: pausedUntil !== undefined && pausedUntil > new Date() ? pausedUntil : null,
    }))
    .sort((a, b) => runningOf(b) - runningOf(a) || b.uncharged - a.uncharged || b.keptBytes - a.keptBytes);
}
