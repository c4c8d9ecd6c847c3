import type { Keyring } from '../../platform/secrets/keyring.ts';
import { CALLS_PATH, type CallStart, sealCallStart } from '../../platform/temporal/callStart.ts';
import { activeTraceparent } from '../../platform/trace.ts';
import type { Env } from '../../schemas/env.ts';
import { TRACE_HEADER } from '../../workflows/contract.ts';

/** Time limit in milliseconds for a worker to accept a call, which takes it one request to Temporal. */
const ACCEPT_MS = 2000;
/** Pause in milliseconds after a failure, so that not every call waits for a worker that does not answer. */
const PAUSE_MS = 1000;

/**
 * Gives calls of fast tools to a worker of their pool, which then runs the whole call: its workflow, the ledger steps and the tool.
 * That saves the requests with which Temporal would dispatch these to two workers.
 */
export interface FastLane {
  /**
   * Has a worker start the workflow of a call. @returns false if none did; it must then be started in the usual way, which
   * changes nothing if a worker has started it and only its response was lost
   */
  start(start: CallStart, signal: AbortSignal): Promise<boolean>;
}

/** @param urls internal URLs of the workers, by pool */
export function createFastLane(urls: Env['FAST_LANE_URLS'], keyring: Keyring): FastLane {
  const pausedUntil = new Map<string, number>();

  async function post(url: string, start: CallStart, signal: AbortSignal): Promise<boolean> {
    const traceparent = activeTraceparent();
    const response = await fetch(`${url}${CALLS_PATH}`, {
      method: 'POST',
      body: new Uint8Array(sealCallStart(keyring, start)),
      headers: traceparent === undefined ? {} : { [TRACE_HEADER]: traceparent },
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ACCEPT_MS)]),
    });
    await response.body?.cancel();
    return response.ok;
  }

  return {
    async start(start, signal) {
      const { isFast, actsOnWorld, pool } = start.request.policy;
      const url = urls.get(pool);
      if (url === undefined || isFast !== true || actsOnWorld) return false;
      if (performance.now() < (pausedUntil.get(pool) ?? 0)) return false;
      // A worker that is unreachable, stopping or of an older version is no fault: the orchestrator then runs the call.
      const accepted = await post(url, start, signal).catch(() => false);
      if (!accepted) pausedUntil.set(pool, performance.now() + PAUSE_MS);
      return accepted;
    },
  };
}
