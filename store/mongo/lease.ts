import { randomUUID } from 'node:crypto';
import type { Store } from './mongo.ts';

const RENEW_INTERVAL_MS = 2000;
/**
 * How long after sending its last successful renewal a process considers its lease held. Well below
 * `EXPIRES_AFTER_MS`, so that the lease stays valid for a while after a check.
 */
const HELD_MS = 8000;
/** Time from the last renewal to the expiry of a lease, measured by the clock of the database server. */
const EXPIRES_AFTER_MS = 15_000;

/** Proof that an API process is alive, which other processes can check in MongoDB. */
export interface Lease {
  /** Id of this process; a new one at each start. */
  readonly processId: string;
  /**
   * False if the lease was not renewed for 8 s. Other processes may then treat this process as dead and settle its
   * calls.
   */
  isHeld(): boolean;
  /** Stops the renewals and ends the lease; for a graceful shutdown. */
  release(): Promise<void>;
}

/**
 * Opens a lease and renews it every 2 s.
 *
 * @param onError receives errors of renewals, which are retried at the next interval
 */
export async function openLease(
  { apiProcesses }: Pick<Store, 'apiProcesses'>,
  onError: (error: unknown) => void,
): Promise<Lease> {
  const processId = randomUUID();
  let renewedAt = Number.NEGATIVE_INFINITY;
  async function renew(): Promise<void> {
    const sentAt = performance.now();
    await apiProcesses.updateOne({ _id: processId }, [{ $set: { renewedAt: '$$NOW' } }], { upsert: true });
    renewedAt = Math.max(renewedAt, sentAt);
  }
  await renew();
  const timer = setInterval(() => void renew().catch(onError), RENEW_INTERVAL_MS).unref();
  return {
    processId,
    isHeld: () => performance.now() - renewedAt < HELD_MS,
    async release() {
      clearInterval(timer);
      await apiProcesses.deleteOne({ _id: processId });
    },
  };
}

/** Matches the leases of running processes. */
export const ALIVE = { $expr: { $gte: ['$renewedAt', { $subtract: ['$$NOW', EXPIRES_AFTER_MS] }] } };

/** Returns the processes whose lease has expired or ended. */
export async function findExpired(
  { apiProcesses }: Pick<Store, 'apiProcesses'>,
  processIds: readonly string[],
): Promise<string[]> {
  const alive = await apiProcesses.find({ _id: { $in: [...processIds] }, ...ALIVE }).toArray();
  const ids = new Set(alive.map(({ _id }) => _id));
  return processIds.filter((id) => !ids.has(id));
}
