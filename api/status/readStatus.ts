import type { Readiness } from '../../platform/readiness.ts';
import { untilAborted } from '../../platform/untilAborted.ts';
import type { Store } from '../../store/mongo/mongo.ts';
import type { Incidents } from '../../store/status/incidents.ts';
import { readStatusDays } from '../../store/status/statusDays.ts';
import { type History, type Status, statusOf } from './status.ts';
import { statesOf } from './statusChecks.ts';

/** Timeout of reading the history. The page is sent without it when MongoDB is away. */
const READ_TIMEOUT_MS = 2000;

interface Dependencies {
  store: Pick<Store, 'statusDays'>;
  incidents: Pick<Incidents, 'list'>;
  readiness(): Promise<Readiness>;
  onError(error: unknown): void;
}

/**
 * Creates the function that reads the status: the state of this moment, and the history from MongoDB. While MongoDB is away,
 * it returns the history that was last read.
 */
export function createReadStatus({
  store,
  incidents,
  readiness,
  onError,
}: Dependencies): () => Promise<Status> {
  let last: History = { days: [], incidents: [] };

  async function readHistory(now: Date): Promise<boolean> {
    try {
      const [days, newest] = await untilAborted(
        Promise.all([readStatusDays(store, now, READ_TIMEOUT_MS), incidents.list()]),
        AbortSignal.timeout(READ_TIMEOUT_MS),
      );
      last = { days, incidents: newest };
      return true;
    } catch (error) {
      onError(error);
      return false;
    }
  }

  return async () => {
    const now = new Date();
    const [ready, isCurrent] = await Promise.all([readiness(), readHistory(now)]);
    return statusOf({ api: 'ok', ...statesOf(ready) }, last, isCurrent, now);
  };
}
