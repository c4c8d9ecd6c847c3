import pLimit, { type LimitFunction } from 'p-limit';

/** Runs a step in the lane of an id. */
export type Lanes = <T>(id: string, step: () => Promise<T>) => Promise<T>;

/** Steps with the same id go on at most `width` at once, the rest in the order in which they came; others do not wait. */
export function createLanes(width: number): Lanes {
  const lanes = new Map<string, LimitFunction>();
  return async (id, step) => {
    const lane = lanes.get(id) ?? pLimit(width);
    lanes.set(id, lane);
    try {
      return await lane(step);
    } finally {
      if (lane.activeCount === 0 && lane.pendingCount === 0) lanes.delete(id);
    }
  };
}
