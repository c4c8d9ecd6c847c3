import { untilAborted } from '../clock.ts';

interface Operation<T> {
  result: Promise<T>;
  callers: number;
  controller: AbortController;
}

/** Lets concurrent callers with the same key share one operation. */
export function createInFlight<T>() {
  const inFlight = new Map<string, Operation<T>>();

  return {
    /** Joins the operation with this key, or starts it. The operation is aborted when its last caller has left. */
    async join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
      signal.throwIfAborted();
      let operation = inFlight.get(key);
      if (operation === undefined) {
        const controller = new AbortController();
        operation = { result: start(controller.signal), callers: 0, controller };
        inFlight.set(key, operation);
      }
      operation.callers++;
      try {
        return await untilAborted(operation.result, signal);
      } finally {
        // The operation has settled, or this was its last caller.
        if (--operation.callers === 0) {
          if (inFlight.get(key) === operation) inFlight.delete(key);
          operation.controller.abort();
        }
      }
    },
  };
}
