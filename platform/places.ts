/** A place of a running task; disposing of it frees the place, and further disposals have no effect. */
export interface Place extends Disposable {
  /** Number of places that the holder had when it got this one, including this one. */
  readonly held: number;
}

/** Limits how many tasks run at the same time. */
export interface Places {
  /**
   * Waits for a place. The waiting tasks of a holder get places in their order.
   *
   * @param holder for whom the task runs: an account, an address or an endpoint
   * @param signal ends the wait
   * @throws the reason of the signal
   */
  enter(holder: string, signal?: AbortSignal): Promise<Place>;
}

/** Places that all holders share. */
export interface FairQueue extends Places {
  /** Changes the number of places. Tasks that hold one continue. */
  resize(places: number): void;
}

/**
 * Creates places that all holders share. A free place goes to the waiting holder with the fewest places (max-min fairness);
 * holders with equally many get places in turn. A holder that runs a single task thus never waits for more than one place,
 * however many tasks others have. The queues of npm (p-queue, p-limit, bottleneck) order tasks by arrival or priority only.
 *
 * @param places number of tasks that run at the same time
 */
export function createFairQueue(places: number): FairQueue {
  let total = places;
  /** Number of free places; negative if there are fewer places than tasks after `resize`. */
  let free = places;
  /** Number of places of each holder. */
  const held = new Map<string, number>();
  /** Waiting tasks by holder. Of holders with equally many places, the first is the next to get one. */
  const waiting = new Map<string, Set<() => void>>();

  const heldBy = (holder: string): number => held.get(holder) ?? 0;

  /** Searches all waiting holders, of which there are few compared with the cost of a task. */
  function nextHolder(): string | undefined {
    let next: string | undefined;
    for (const holder of waiting.keys())
      if (next === undefined || heldBy(holder) < heldBy(next)) next = holder;
    return next;
  }

  function take(holder: string): Place {
    const count = heldBy(holder) + 1;
    held.set(holder, count);
    let isHeld = true;
    return {
      held: count,
      [Symbol.dispose]() {
        if (isHeld) leave(holder);
        isHeld = false;
      },
    };
  }

  function leave(holder: string): void {
    const left = heldBy(holder) - 1;
    if (left > 0) held.set(holder, left);
    else held.delete(holder);
    free++;
    startNext();
  }

  function startNext(): void {
    while (free > 0) {
      const next = nextHolder();
      const tasks = next === undefined ? undefined : waiting.get(next);
      const [start] = tasks ?? [];
      if (next === undefined || tasks === undefined || start === undefined) return;
      tasks.delete(start);
      waiting.delete(next);
      if (tasks.size > 0) waiting.set(next, tasks);
      free--;
      start();
    }
  }

  function wait(holder: string, signal: AbortSignal | undefined): Promise<Place> {
    return new Promise((resolve, reject) => {
      const tasks = waiting.get(holder) ?? new Set();
      const start = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve(take(holder));
      };
      const onAbort = () => {
        tasks.delete(start);
        if (tasks.size === 0) waiting.delete(holder);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.set(holder, tasks.add(start));
    });
  }

  return {
    async enter(holder, signal) {
      signal?.throwIfAborted();
      if (free <= 0) return wait(holder, signal);
      free--;
      return take(holder);
    },
    resize(places) {
      free += places - total;
      total = places;
      startNext();
    },
  };
}

/**
 * Creates places of which each holder has its own, so that holders do not affect each other.
 *
 * @param places number of tasks of a holder that run at the same time
 */
export function createOwnPlaces(places: number): Places {
  /** The queues of holders that have tasks, and how many tasks use each. */
  const queues = new Map<string, { queue: FairQueue; users: number }>();

  return {
    async enter(holder, signal) {
      const own = queues.get(holder) ?? { queue: createFairQueue(places), users: 0 };
      queues.set(holder, own);
      own.users++;
      const leave = () => {
        if (--own.users === 0) queues.delete(holder);
      };
      try {
        const place = await own.queue.enter(holder, signal);
        let isHeld = true;
        return {
          held: place.held,
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
