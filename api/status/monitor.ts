import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { untilAborted } from '../../platform/untilAborted.ts';
import type { ComponentStates } from '../../schemas/status.ts';
import { checkTwice } from './statusChecks.ts';

const MINUTE_MS = 60_000;
/** Minutes that are kept in memory while MongoDB is away; older ones are dropped and shown as unknown. */
const MAX_PENDING = 1440;

interface Dependencies {
  check(): Promise<ComponentStates>;
  /** Records the result of a minute, unless another process has recorded it. */
  record(minute: Date, states: ComponentStates): Promise<void>;
  log: Pick<Logger, 'warn'>;
}

/** Records results in the order of their minutes. Results that could not be written are kept for the next attempt. */
export function createRecorder({ record, log }: Pick<Dependencies, 'record' | 'log'>) {
  const pending: { minute: Date; states: ComponentStates }[] = [];
  return async (minute: Date, states: ComponentStates): Promise<void> => {
    pending.push({ minute, states });
    if (pending.length > MAX_PENDING) pending.shift();
    try {
      for (let next = pending[0]; next !== undefined; next = pending[0]) {
        await record(next.minute, next.states);
        pending.shift();
      }
    } catch (error) {
      log.warn({ err: error, pending: pending.length }, 'could not record the status; retrying in a minute');
    }
  };
}

/**
 * Runs the checks of the status page at the start of every minute until `stop` is called. All API processes do; the first
 * one that records a minute wins.
 */
export function startMonitor({ check, record, log }: Dependencies): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const { signal } = stopped;
  const add = createRecorder({ record, log });

  async function next(): Promise<void> {
    await sleep(MINUTE_MS - (Date.now() % MINUTE_MS), undefined, { signal });
    // Rounded, because a timer can fire a millisecond early.
    const minute = new Date(Math.round(Date.now() / MINUTE_MS) * MINUTE_MS);
    await untilAborted(
      checkTwice(check, signal).then((states) => add(minute, states)),
      signal,
    );
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        await next();
      } catch (error) {
        if (!signal.aborted)
          log.warn({ err: error }, 'a check of the status page failed; the next is in a minute');
      }
    }
  }
  const running = run();

  return {
    async stop() {
      stopped.abort();
      await running;
    },
  };
}
