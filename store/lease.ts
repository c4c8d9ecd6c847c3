import { randomUUID } from 'node:crypto';
import type { Store } from './mongo.ts';

const RENEW_EVERY_MS = 2000;
/** Counted from the moment a renewal was sent. Well below `EXPIRES_AFTER_MS`: what is checked just before still holds. */
const HELD_MS = 8000;
/** Counted on the database's clock from the renewal it saw last. */
const EXPIRES_AFTER_MS = 15_000;

/** Proof that an API process is alive, which other processes can check in MongoDB. */
export interface Lease {
  /** Id of this process, fresh at each start. */
  readonly processId: string;
  /** False when it could not be renewed for 8 s: other processes may take over what this process was doing. */
  isHeld(): boolean;
  /** Stops the renewals and gives the lease up; for an orderly end of the process. */
  release(): Promise<void>;
}

/** Opens a lease and renews it every 2 s. @param onError receives renewals that failed; the next one is tried anyway */
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
  const timer = setInterval(() => void renew().catch(onError), RENEW_EVERY_MS).unref();
  return {
    processId,
    isHeld: () => performance.now() - renewedAt < HELD_MS,
    async release() {
      clearInterval(timer);
      await apiProcesses.deleteOne({ _id: processId });
    },
  };
}

/** Those of the processes whose lease has expired or was given up. */
export async function findExpired(
  { apiProcesses }: Pick<Store, 'apiProcesses'>,
  processIds: readonly string[],
): Promise<string[]> {
  const alive = await apiProcesses
    .find({
      _id: { $in: [...processIds] },
      $expr: { $gte: ['$renewedAt', { $subtract: ['$$NOW', EXPIRES_AFTER_MS] }] },
    })
    .toArray();
  const ids = new Set(alive.map(({ _id }) => _id));
  return processIds.filter((id) => !ids.has(id));
}
