/** The slot of a running task. Disposing of it frees the slot, and further disposals have no effect. */
export interface Slot extends Disposable {
  /** Number of slots that the holder had when it got this one, including this one. */
  readonly held: number;
}

/** Limits how many tasks run at the same time. */
interface Semaphore {
  /**
   * Waits for a slot. The waiting tasks of a holder get slots in their order.
   *
   * @param holder for whom the task runs: an account, an address or an endpoint
   * @param signal ends the wait
   * @throws the reason of the signal
   */
  acquire(holder: string, signal?: AbortSignal): Promise<Slot>;
}

/** A semaphore whose slots all holders share. */
export interface FairSemaphore extends Semaphore {
  /** Changes the number of slots. Tasks that hold one continue. */
  resize(slots: number): void;
}

/**
 * Creates a semaphore whose slots all holders share. A free slot goes to the waiting holder with the fewest slots (max-min fairness);
 * holders with equally many get slots in turn. A holder that runs a single task thus never waits for more than one slot,
 * however many tasks others have. The queues of npm (p-queue, p-limit, bottleneck) order tasks by arrival or priority only.
 *
 * @param slots number of tasks that run at the same time
 * @param reserved how many of these slots only holders without a slot get, so that long tasks of a few others do not keep them waiting
 */
export function createFairSemaphore(slots: number, reserved = 0): FairSemaphore {
  let total = slots;
  /** Number of free slots; negative if there are fewer slots than tasks after `resize`. */
  let free = slots;
  /** Number of slots of each holder. */
  const held = new Map<string, number>();
  /** Waiting tasks by holder. Of holders with equally many slots, the first is the next to get one. */
  const waiting = new Map<string, Set<() => void>>();

  const heldBy = (holder: string): number => held.get(holder) ?? 0;
  const hasRoom = (holder: string): boolean => free > (heldBy(holder) === 0 ? 0 : reserved);

  /** Searches all waiting holders, of which there are few compared with the cost of a task. */
  function nextHolder(): string | undefined {
    let next: string | undefined;
    for (const holder of waiting.keys())
      if (next === undefined || heldBy(holder) < heldBy(next)) next = holder;
    return next;
  }

  function take(holder: string): Slot {
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
    for (;;) {
      const next = nextHolder();
      const tasks = next === undefined ? undefined : waiting.get(next);
      const [start] = tasks ?? [];
      if (next === undefined || tasks === undefined || start === undefined || !hasRoom(next)) return;
      tasks.delete(start);
      waiting.delete(next);
      if (tasks.size > 0) waiting.set(next, tasks);
      free--;
      start();
    }
  }

  function wait(holder: string, signal: AbortSignal | undefined): Promise<Slot> {
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
    async acquire(holder, signal) {
      signal?.throwIfAborted();
      if (!hasRoom(holder)) return wait(holder, signal);
      free--;
      return take(holder);
    },
    resize(slots) {
      free += slots - total;
      total = slots;
      startNext();
    },
  };
}

/**
 * Creates a semaphore of which each holder has slots of its own, so that holders do not affect each other.
 *
 * @param slots number of tasks of a holder that run at the same time
 */
export function createSemaphorePerHolder(slots: number): Semaphore {
  /** The queues of holders that have tasks, and how many tasks use each. */
  const queues = new Map<string, { queue: FairSemaphore; users: number }>();

  return {
    async acquire(holder, signal) {
      const own = queues.get(holder) ?? { queue: createFairSemaphore(slots), users: 0 };
      queues.set(holder, own);
      own.users++;
      const leave = () => {
        if (--own.users === 0) queues.delete(holder);
      };
      try {
        const slot = await own.queue.acquire(holder, signal);
        let isHeld = true;
        return {
          held: slot.held,
          [Symbol.dispose]() {
            if (isHeld) leave();
            isHeld = false;
            slot[Symbol.dispose]();
          },
        };
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}
