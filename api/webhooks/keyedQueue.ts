import { createFairQueue } from '../calls/fairQueue.ts';

/**
 * Runs a task as soon as fewer than the permitted number of tasks with the same key run.
 *
 * @param signal ends the wait
 * @throws the reason of the signal, or the error of the task
 */
export type KeyedQueue = <T>(key: string, signal: AbortSignal, task: () => Promise<T>) => Promise<T>;

/** @param places number of tasks with the same key that run at the same time */
export function createKeyedQueue(places: number): KeyedQueue {
  const queues = new Map<string, { queue: ReturnType<typeof createFairQueue>; tasks: number }>();
  return async (key, signal, task) => {
    const entry = queues.get(key) ?? { queue: createFairQueue(places), tasks: 0 };
    queues.set(key, entry);
    entry.tasks++;
    try {
      using _place = await entry.queue.enter(key, signal);
      return await task();
    } finally {
      entry.tasks--;
      if (entry.tasks === 0) queues.delete(key);
    }
  };
}
