/** A place of a running task; disposing of it frees the place, and further disposals have no effect. */
export interface Place extends Disposable {
  /** Number of places that the account held when it got this one, including this one. */
  readonly held: number;
}

/**
 * Limits how many tasks run at the same time. A free place goes to the waiting account that holds the fewest places
 * (max-min fairness); accounts that hold equally many get places in turn. An account that runs a single task thus never
 * waits for more than one place, however many tasks others have.
 */
export interface FairQueue {
  /**
   * Waits for a place.
   *
   * @param signal ends the wait
   * @throws the reason of the signal
   */
  enter(accountId: string, signal: AbortSignal): Promise<Place>;
}

/** @param places number of tasks that run at the same time */
export function createFairQueue(places: number): FairQueue {
  let free = places;
  /** Number of places that each account holds. */
  const held = new Map<string, number>();
  /** Waiting tasks by account. Of accounts that hold equally many places, the first is the next to get one. */
  const waiting = new Map<string, Set<() => void>>();

  const heldBy = (accountId: string): number => held.get(accountId) ?? 0;

  /** Searches all waiting accounts, of which there are few compared with the cost of a task. */
  function nextAccount(): string | undefined {
    let next: string | undefined;
    for (const accountId of waiting.keys())
      if (next === undefined || heldBy(accountId) < heldBy(next)) next = accountId;
    return next;
  }

  function take(accountId: string): Place {
    const count = heldBy(accountId) + 1;
    held.set(accountId, count);
    let isHeld = true;
    return {
      held: count,
      [Symbol.dispose]() {
        if (isHeld) leave(accountId);
        isHeld = false;
      },
    };
  }

  function leave(accountId: string): void {
    const left = heldBy(accountId) - 1;
    if (left > 0) held.set(accountId, left);
    else held.delete(accountId);
    free++;
    const next = nextAccount();
    const tasks = next === undefined ? undefined : waiting.get(next);
    const [start] = tasks ?? [];
    if (next === undefined || tasks === undefined || start === undefined) return;
    tasks.delete(start);
    waiting.delete(next);
    if (tasks.size > 0) waiting.set(next, tasks);
    free--;
    start();
  }

  function wait(accountId: string, signal: AbortSignal): Promise<Place> {
    return new Promise((resolve, reject) => {
      const tasks = waiting.get(accountId) ?? new Set();
      const start = () => {
        signal.removeEventListener('abort', onAbort);
        resolve(take(accountId));
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
      if (free === 0) return wait(accountId, signal);
      free--;
      return take(accountId);
    },
  };
}
