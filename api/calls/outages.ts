import type { Logger } from 'pino';
import type { Checks } from '../../platform/readiness.ts';
import { systemTimers, type Timers } from '../../platform/timers.ts';
import { untilAborted } from '../../platform/untilAborted.ts';
import { ServiceError } from '../../schemas/errors.ts';

/** Detects long outages of the servers that every call needs: MongoDB and Temporal. */
export interface Outages {
  /**
   * Refuses a new call during an outage, because the call would only run into its deadline. Calls whose workflow has
   * started continue.
   *
   * @param name name of a server; only its outage counts. Default: the outage of any server
   * @throws ServiceError tool_unavailable
   */
  refuse(name?: string): void;
  /** Returns a signal that aborts when the next outage of the server is detected; it is already aborted during an outage. */
  nextOutage(name: string): AbortSignal;
  stop(): Promise<void>;
}

const PROBE_EVERY_MS = 1000;
const PROBE_TIMEOUT_MS = 3000;
const LEAST_PROBE_TIMEOUT_MS = 500;
/**
 * A server counts as down when every probe has failed for this long. During shorter outages, such as a restart of up
 * to five seconds, calls wait and then succeed.
 */
const DOWN_AFTER_MS = 10_000;
/**
 * Minimum number of failed probes before a server counts as down. After a pause of the whole machine, the first probe
 * can time out although the server is up.
 */
const DOWN_FAILURES = 3;
/** `Retry-After` of a refused call in seconds. Short, because the next probe may already succeed. */
const RETRY_AFTER_S = 5;

/** Error of a call that was not started because of an outage. */
export const unavailable = (): ServiceError =>
  new ServiceError('tool_unavailable', {
    detail: 'The service cannot run calls at the moment. This call was not started and nothing was charged.',
    retryAfter: RETRY_AFTER_S,
  });

/** Probes each server every second until `stop` is called. */
export function watchOutages(checks: Checks, log: Logger, timers: Timers = systemTimers): Outages {
  const down = new Set<string>();
  /** Controllers of the signals of `nextOutage`, by server. */
  const detections = new Map(Object.keys(checks).map((name) => [name, new AbortController()]));
  const stopped = new AbortController();

  async function probe(check: Checks[string], timeoutMs: number): Promise<void> {
    const timeout = new AbortController();
    const signal = AbortSignal.any([stopped.signal, timeout.signal]);
    const cancel = timers.after(timeoutMs, () =>
      timeout.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError')),
    );
    try {
      await untilAborted(check(signal), signal);
    } finally {
      cancel();
    }
  }

  /** Resolves after the pause between two probes, or as soon as the watch stops. */
  async function pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = timers.after(PROBE_EVERY_MS, resolve);
    await untilAborted(promise, stopped.signal).catch(() => undefined);
    cancel();
  }

  async function watch(name: string, check: Checks[string]): Promise<void> {
    let failures = 0;
    let failingSince = 0;
    while (!stopped.signal.aborted) {
      const began = timers.now();
      // The probe whose failure can mark the server as down ends when that time has come, so that a server that does not
      // respond is noticed as early as one that refuses connections.
      const isLast = failures >= DOWN_FAILURES - 1 && !down.has(name);
      const left = isLast ? Math.ceil(failingSince + DOWN_AFTER_MS - began) + 1 : PROBE_TIMEOUT_MS;
      try {
        await probe(check, Math.min(PROBE_TIMEOUT_MS, Math.max(LEAST_PROBE_TIMEOUT_MS, left)));
        failures = 0;
        if (down.delete(name)) {
          detections.set(name, new AbortController());
          log.warn({ server: name }, 'server is up again; calls are accepted');
        }
      } catch (error) {
        if (failures++ === 0) failingSince = began;
        const isDown = failures >= DOWN_FAILURES && timers.now() - failingSince >= DOWN_AFTER_MS;
        if (isDown && !down.has(name) && !stopped.signal.aborted) {
          down.add(name);
          detections.get(name)?.abort();
          log.error({ err: error, server: name }, 'server is down; calls are refused');
        }
      }
      await pause();
    }
  }

  const watches = Object.entries(checks).map(([name, check]) => watch(name, check));
  return {
    refuse(name) {
      if (name === undefined ? down.size === 0 : !down.has(name)) return;
      throw unavailable();
    },
    nextOutage(name) {
      const detection = detections.get(name);
      if (detection === undefined) throw new Error(`${name} is not watched`);
      return detection.signal;
    },
    async stop() {
      stopped.abort();
      await Promise.all(watches);
    },
  };
}
