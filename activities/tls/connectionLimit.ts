/** Limits how many connections to one server are open at the same time. */
export interface ConnectionLimit {
  /** Runs the work when fewer connections than the limit are open. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Runs the work when no other connection is open, and delays others until it has ended. */
  runAlone<T>(work: () => Promise<T>): Promise<T>;
  /** Limits the server to one connection at a time from now on. */
  restrict(): void;
}

/** @param maximum number of connections that may be open at the same time */
export function createConnectionLimit(maximum: number): ConnectionLimit {
  const waiting: (() => void)[] = [];
  let open = 0;
  let limit = maximum;
  let alone = 0;

  function start(): void {
    while (waiting.length > 0 && open < (alone > 0 ? 1 : limit)) {
      open++;
      waiting.shift()?.();
    }
  }
  async function run<T>(work: () => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      start();
    });
    try {
      return await work();
    } finally {
      open--;
      start();
    }
  }

  return {
    run,
    async runAlone(work) {
      alone++;
      try {
        return await run(work);
      } finally {
        alone--;
        start();
      }
    },
    restrict() {
      limit = 1;
    },
  };
}
