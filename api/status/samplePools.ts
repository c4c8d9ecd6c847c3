import type { Client } from '@temporalio/client';
import { queueState } from '../../platform/healthChecks.ts';
import { POOLS } from '../../schemas/pools.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import { countOpenCalls, recordSample } from '../../store/status/poolSamples.ts';
import type { PoolSample } from '../../store/status/statusDocs.ts';
import { toolQueue } from '../../workflows/contract.ts';

interface Dependencies {
  store: Store;
  client: Client;
  queues: readonly string[];
}

/** Records the state of all task queues at a minute, for the operator's charts. */
export async function samplePools({ store, client, queues }: Dependencies, minute: Date): Promise<void> {
  const [open, states] = await Promise.all([
    countOpenCalls(store),
    Promise.all(queues.map((queue) => queueState(client, queue))),
  ]);
  const poolOf = (queue: string) => POOLS.find((pool) => toolQueue(pool) === queue);
  const samples: Record<string, PoolSample> = {};
  states.forEach((state, index) => {
    const queue = queues[index] ?? '';
    const pool = poolOf(queue);
    samples[queue] = { ...state, calls: pool === undefined ? null : (open.get(pool) ?? 0) };
  });
  await recordSample(store, minute, samples);
}
