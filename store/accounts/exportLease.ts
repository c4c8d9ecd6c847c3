import { randomUUID } from 'node:crypto';
import { insertAllOnce, type Store } from '../mongo/mongo.ts';

/** How long a lease lasts after its last renewal, in milliseconds. */
export const EXPORT_LEASE_MS = 30_000;
const RENEW_INTERVAL_MS = 10_000;

/** The exclusive right to export an account, among all API processes. */
export interface ExportLease {
  /** Stops the renewals and ends the lease; can be repeated. */
  release(): Promise<void>;
}

/**
 * Opens the lease of an account's export and renews it until it is released. It expires if the process dies.
 *
 * @param onLost called if another process has taken over the lease, because it could not be renewed in time
 * @returns null while another export has the lease
 */
export async function leaseExport(
  { exportLeases }: Pick<Store, 'exportLeases'>,
  accountId: string,
  onLost: () => void,
): Promise<ExportLease | null> {
  const holder = randomUUID();
  const lease = { holder, until: { $add: ['$$NOW', EXPORT_LEASE_MS] } };
  await insertAllOnce(exportLeases, [{ _id: accountId, holder: '', until: new Date(0) }]);
  const { matchedCount } = await exportLeases.updateOne(
    { _id: accountId, $expr: { $lte: ['$until', '$$NOW'] } },
    [{ $set: lease }],
  );
  if (matchedCount === 0) return null;
  async function renew(): Promise<void> {
    const renewed = await exportLeases.updateOne({ _id: accountId, holder }, [{ $set: lease }]);
    if (renewed.matchedCount > 0) return;
    clearInterval(timer);
    onLost();
  }
  // A renewal that fails is repeated at the next interval.
  const timer = setInterval(() => void renew().catch(() => undefined), RENEW_INTERVAL_MS).unref();
  return {
    async release() {
      clearInterval(timer);
      await exportLeases.deleteOne({ _id: accountId, holder });
    },
  };
}
