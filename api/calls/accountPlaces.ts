import { createFairQueue, type FairQueue } from './fairQueue.ts';

/** Limits how many tasks of one account run at the same time in this process. Accounts do not affect each other. */
export interface AccountPlaces {
  /** Waits for a place. Disposing of it frees the place. @param signal ends the wait @throws the reason of the signal */
  enter(accountId: string, signal: AbortSignal): Promise<Disposable>;
}

/** @param places number of tasks of an account that run at the same time */
export function createAccountPlaces(places: number): AccountPlaces {
  /** The queues of accounts that have tasks, and how many tasks use each. */
  const queues = new Map<string, { queue: FairQueue; users: number }>();

  return {
    async enter(accountId, signal) {
      const account = queues.get(accountId) ?? { queue: createFairQueue(places), users: 0 };
      queues.set(accountId, account);
      account.users++;
      const leave = () => {
        if (--account.users === 0) queues.delete(accountId);
      };
      try {
        const place = await account.queue.enter(accountId, signal);
        let isHeld = true;
        return {
          [Symbol.dispose]() {
            if (isHeld) leave();
            isHeld = false;
            place[Symbol.dispose]();
          },
        };
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}
