interface Flight<T> {
  result: Promise<T>;
  waiting: number;
  abandon: AbortController;
}

/** Settles as the promise does, or rejects with the signal's reason when that comes first. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Lets callers who want the same thing at the same time share one piece of work. */
export function createFlights<T>() {
  const flights = new Map<string, Flight<T>>();

  function forget(key: string, flight: Flight<T>): void {
    if (flights.get(key) === flight) flights.delete(key);
  }

  return {
    /**
     * Joins the work under this key, or starts it. A caller who leaves does not end it for the others; the last to
     * leave does.
     */
    async join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
      signal.throwIfAborted();
      let flight = flights.get(key);
      if (flight === undefined) {
        const abandon = new AbortController();
        flight = { result: start(abandon.signal), waiting: 0, abandon };
        flights.set(key, flight);
      }
      flight.waiting++;
      try {
        return await unlessAborted(flight.result, signal);
      } finally {
        // Over for this caller means over for all, or, when the last one left, abandoned.
        if (--flight.waiting === 0) {
          forget(key, flight);
          flight.abandon.abort();
        }
      }
    },
  };
}
