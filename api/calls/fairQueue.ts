/** Limits how many tasks run at the same time. Waiting accounts get the next free place in turn, however many tasks each has. */
export interface FairQueue {
  /**
   * Waits for a place. Disposing of the place frees it; further disposals have no effect.
   *
   * @param signal ends the wait
   * @throws the reason of the signal
   */
  enter(accountId: string, signal: AbortSignal): Promise<Disposable>;
}

/** @param places number of tasks that run at the same time */
export function createFairQueue(places: number): FairQueue {
  let free = places;
  /** Waiting tasks by account. The first account is the next to get a place. */
  const waiting = new Map<string, Set<() => void>>();

  function leave(): void {
    for (const [accountId, tasks] of waiting)
      for (const start of tasks) {
        tasks.delete(start);
        waiting.delete(accountId);
        if (tasks.size > 0) waiting.set(accountId, tasks);
        start();
        return;
      }
    free++;
  }

  function wait(accountId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const tasks = waiting.get(accountId) ?? new Set();
      const start = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        tasks.delete(start);
        if (tasks.size === 0) waiting.delete(accountId);
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      waiting.set(accountId, tasks.add(start));
    });
  }

  return {
    async enter(accountId, signal) {
      signal.throwIfAborted();
      if (free > 0) free--;
      else await wait(accountId, signal);
      let held = true;
      return {
        [Symbol.dispose]() {
          if (held) leave();
          held = false;
        },
      };
    },
  };
}
