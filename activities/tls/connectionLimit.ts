import { createFairSemaphore } from '../../platform/semaphores.ts';

/** Limits how many connections to one server are open at the same time. */
interface ConnectionLimit {
  /** Runs the work when fewer connections than the limit are open. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Runs the work when no other connection is open, and delays others until it has ended. */
  runAlone<T>(work: () => Promise<T>): Promise<T>;
  /** Limits the server to one connection at a time from now on. */
  restrict(): void;
}

/** All connections wait in one queue, in order of arrival. */
const QUEUE = 'connections';

/** @param maximum number of connections that may be open at the same time */
export function createConnectionLimit(maximum: number): ConnectionLimit {
  const slots = createFairSemaphore(maximum);
  let limit = maximum;
  let alone = 0;
  const resize = () => slots.resize(alone > 0 ? 1 : limit);

  async function run<T>(work: () => Promise<T>): Promise<T> {
    using _slot = await slots.acquire(QUEUE);
    return await work();
  }

  return {
    run,
    async runAlone(work) {
      alone++;
      resize();
      try {
        return await run(work);
      } finally {
        alone--;
        resize();
      }
    },
    restrict() {
      limit = 1;
      resize();
    },
  };
}
