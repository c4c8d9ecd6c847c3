import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { untilAborted } from '../../egress/clock.ts';
import { ServiceError } from '../../schemas/errors.ts';
import type { Checks } from '../../workers/platform/readiness.ts';

/** Which of the servers that every call needs have been gone for a while. */
export interface Outages {
  /**
   * Refuses a call that would only wait for its deadline. A call that has begun keeps waiting.
   *
   * @param name one server. Default: any of them
   * @throws ServiceError tool_unavailable
   */
  refuse(name?: string): void;
  stop(): Promise<void>;
}

const PROBE_EVERY_MS = 1000;
const PROBE_TIMEOUT_MS = 3000;
/**
 * A server is gone when every probe has failed for this long. Shorter than that a call waits, and succeeds when the server
 * is back: a restart takes up to five seconds.
 */
const GONE_AFTER_MS = 10_000;
/** When the whole machine stood still, the first probe afterwards says nothing about the server. */
const GONE_FAILURES = 3;
/** Seconds: the next probe may already succeed. */
const RETRY_AFTER_S = 5;

/** Probes each server every second until it is stopped. */
export function watchOutages(checks: Checks, log: Logger): Outages {
  const gone = new Set<string>();
  const stopped = new AbortController();

  async function probe(check: Checks[string]): Promise<void> {
    const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]);
    await untilAborted(check(signal), signal);
  }

  async function watch(name: string, check: Checks[string]): Promise<void> {
    let failures = 0;
    let failingSince = 0;
    while (!stopped.signal.aborted) {
      const began = performance.now();
      try {
        await probe(check);
        failures = 0;
        if (gone.delete(name)) log.warn({ server: name }, 'the server is back, calls run again');
      } catch (error) {
        if (failures++ === 0) failingSince = began;
        const isGone = failures >= GONE_FAILURES && performance.now() - failingSince >= GONE_AFTER_MS;
        if (isGone && !gone.has(name) && !stopped.signal.aborted) {
          gone.add(name);
          log.error({ err: error, server: name }, 'the server is gone, calls are refused');
        }
      }
      await sleep(PROBE_EVERY_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  }

  const watching = Object.entries(checks).map(([name, check]) => watch(name, check));
  return {
    refuse(name) {
      if (name === undefined ? gone.size === 0 : !gone.has(name)) return;
      throw new ServiceError('tool_unavailable', {
        detail: 'The service cannot run calls now. This call was not started and nothing was charged.',
        retryAfter: RETRY_AFTER_S,
      });
    },
    async stop() {
      stopped.abort();
      await Promise.all(watching);
    },
  };
}
