import { isPool } from '../../schemas/pools.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import type { PoolSample, PoolSampleDoc } from './statusDocs.ts';

/** Number of minutes that are shown. */
export const SAMPLED_MINUTES = 60;
const MINUTE_MS = 60_000;

/** Counts the calls that hold credits, which are those that wait for a worker or run, by pool. */
export async function countOpenCalls({ accounts }: Pick<Store, 'accounts'>): Promise<Map<string, number>> {
  const rows = await accounts
    .aggregate<{ _id: string; calls: number }>([
      { $match: { reserved: { $gt: 0 } } },
      { $project: { running: { $objectToArray: '$running' } } },
      { $unwind: '$running' },
      { $group: { _id: '$running.k', calls: { $sum: '$running.v' } } },
    ])
    .toArray();
  return new Map(rows.filter(({ _id }) => isPool(_id)).map(({ _id, calls }) => [_id, calls]));
}

/** Records the state of the queues at a minute; the first sample of a minute is kept. */
export async function recordSample(
  { poolSamples }: Pick<Store, 'poolSamples'>,
  minute: Date,
  queues: Record<string, PoolSample>,
): Promise<void> {
  try {
    await poolSamples.insertOne({ _id: minute.toISOString(), at: minute, queues });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
  }
}

/** Returns the samples of the last hour, oldest first. */
export const readSamples = (
  { poolSamples }: Pick<Store, 'poolSamples'>,
  now: Date,
): Promise<PoolSampleDoc[]> =>
  poolSamples
    .find({ at: { $gt: new Date(now.getTime() - SAMPLED_MINUTES * MINUTE_MS) } })
    .sort({ at: 1 })
    .toArray();
