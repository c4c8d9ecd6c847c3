import type { ApiProcessDoc, ClientUse } from '../calls/callDocs.ts';
import { largestCounts } from '../mongo/counters.ts';
import { ALIVE } from '../mongo/lease.ts';
import type { Store } from '../mongo/mongo.ts';
import type { AccountDoc } from './accountDocs.ts';

/** The running calls, credits, connections and storage that an account uses now. */
export interface Share extends Omit<ClientUse, 'client'> {
  accountId: string;
  email: string;
  /** Calls with a hold, by pool; they hold or wait for a slot. */
  running: AccountDoc['running'];
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

/** Names of counters of accounts: `unchargedCalls.ts`, and `retention.ts` and `changeLimit.ts` of the API write them. */
const COUNTERS = { uncharged: 'uncharged', keptKb: 'kept-results', changes: 'account-change' } as const;
const KB = 1024;
const NO_USE = { connections: 0, receivedBytes: 0, unreadBytes: 0 } as const;
/** Number of accounts that each figure contributes. */
const MOST = 50;

const runningOf = ({ running }: Pick<Share, 'running'>): number =>
  Object.values(running).reduce((sum, calls) => sum + calls, 0);

type Clients = NonNullable<ApiProcessDoc['clients']>;

/** Stores the clients that use most of an API process. No-op if the process has ended. */
export async function recordClients(
  { apiProcesses }: Pick<Store, 'apiProcesses'>,
  processId: string,
  clients: Clients,
): Promise<void> {
  await apiProcesses.updateOne({ _id: processId }, { $set: { clients } });
}

/** Adds up what clients use of all API processes. @param kind which clients */
async function readClients(
  { apiProcesses }: Pick<Store, 'apiProcesses'>,
  kind: keyof Clients,
): Promise<ClientUse[]> {
  const processes = await apiProcesses.find({ clients: { $exists: true }, ...ALIVE }).toArray();
  const sums = new Map<string, ClientUse>();
  for (const { client, connections, receivedBytes, unreadBytes } of processes.flatMap(
    ({ clients }) => clients?.[kind] ?? [],
  )) {
    const sum = sums.get(client) ?? { client, connections: 0, receivedBytes: 0, unreadBytes: 0 };
    sum.connections += connections;
    sum.receivedBytes += receivedBytes;
    sum.unreadBytes += unreadBytes;
    sums.set(client, sum);
  }
  return [...sums.values()];
}

/** Returns the client addresses that use most of the API processes now, those with most connections first. For operators. */
export const readAddresses = async (store: Pick<Store, 'apiProcesses'>): Promise<ClientUse[]> =>
  (await readClients(store, 'addresses')).sort((a, b) => b.connections - a.connections);

/**
 * Returns the accounts that use most of the service now: those with running calls first, by their number, then those with
 * the most calls without a charge. For operators; reads a few hundred documents.
 */
export async function readShares(store: Store): Promise<Share[]> {
  const fields = { email: 1, running: 1, reserved: 1, suspension: 1, pausedUntil: 1 } as const;
  const [uncharged, keptKb, changes, clients, holding] = await Promise.all([
    largestCounts(store, COUNTERS.uncharged, MOST),
    largestCounts(store, COUNTERS.keptKb, MOST),
    largestCounts(store, COUNTERS.changes, MOST),
    readClients(store, 'accounts'),
    store.accounts.find({ reserved: { $gt: 0 } }, { projection: { _id: 1, running: 1 } }).toArray(),
  ]);
  const busiest = holding
    .sort((a, b) => runningOf(b) - runningOf(a))
    .slice(0, MOST)
    .map(({ _id }) => _id);
  const uses = new Map(clients.map(({ client, ...use }) => [client, use]));
  const ids = new Set([...busiest, ...uses.keys(), ...uncharged.keys(), ...keptKb.keys(), ...changes.keys()]);
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
      ...(uses.get(_id) ?? NO_USE),
      isSuspended: suspension !== undefined,
      pausedUntil: pausedUntil !== undefined && pausedUntil > new Date() ? pausedUntil : null,
    }))
    .sort((a, b) => runningOf(b) - runningOf(a) || b.uncharged - a.uncharged || b.keptBytes - a.keptBytes);
}
