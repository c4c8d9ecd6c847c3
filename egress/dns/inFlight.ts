import { untilAborted } from '../../platform/untilAborted.ts';

interface Operation<T> {
  result: Promise<T>;
  callers: number;
  controller: AbortController;
}

/** Creates a registry through which concurrent callers with the same key share one operation. */
export function createInFlight<T>() {
  const inFlight = new Map<string, Operation<T>>();

  return {
    /** Joins the running operation with this key, or starts one. The operation is aborted once no caller waits for it. */
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
        // Aborts the operation when no caller waits for it any more. If it has settled, this has no effect.
        if (--operation.callers === 0) {
          if (inFlight.get(key) === operation) inFlight.delete(key);
          operation.controller.abort();
        }
      }
    },
  };
}
