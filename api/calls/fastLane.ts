import type { Keyring } from '../../platform/secrets/keyring.ts';
import {
  CALLS_PATH,
  type CallStart,
  openCallResult,
  sealCallStart,
} from '../../platform/temporal/callStart.ts';
import { activeTraceparent } from '../../platform/trace.ts';
import type { Env } from '../../schemas/env.ts';
import { TRACE_HEADER } from '../../workflows/contract.ts';
import type { CallResult } from '../../workflows/types.ts';

/** Time limit in milliseconds for a worker to accept a call, which takes it one request to Temporal. */
const ACCEPT_MS = 2000;
/**
 * Time limit in milliseconds for the result. After it Temporal is asked, because another worker may have taken over the call of one
 * that hangs.
 */
const RESULT_MS = 3000;
/** Pause in milliseconds after a failure, so that not every call waits for a worker that does not answer. */
const PAUSE_MS = 1000;

/** A call that a worker has started. */
export interface StartedCall {
  /** The result of the call; null if the worker gave none, and Temporal is to be asked. Never rejects. */
  result: Promise<CallResult | null>;
}

/**
 * Gives calls of fast tools to a worker of their pool, which then runs the whole call: its workflow, the ledger steps and the tool,
 * and answers with the result. That saves the requests with which Temporal would dispatch these to two workers, and that
 * with which this process would wait for the result.
 */
export interface FastLane {
  /**
   * Has a worker start the workflow of a call. @returns null if none did; it must then be started in the usual way, which
   * changes nothing if a worker has started it and only its response was lost
   *
   * @param signal ends the wait for the start and for the result
   */
  start(start: CallStart, signal: AbortSignal): Promise<StartedCall | null>;
}

/** @param urls internal URLs of the workers, by pool */
export function createFastLane(urls: Env['FAST_LANE_URLS'], keyring: Keyring): FastLane {
  const pausedUntil = new Map<string, number>();

  async function post(url: string, start: CallStart, signal: AbortSignal): Promise<StartedCall | null> {
    const { callId } = start.request;
    const traceparent = activeTraceparent();
    const late = new AbortController();
    const within = <T>(ms: number, step: Promise<T>): Promise<T> => {
      const timer = setTimeout(() => late.abort(), ms);
      return step.finally(() => clearTimeout(timer));
    };
    const request = fetch(`${url}${CALLS_PATH}`, {
      method: 'POST',
      body: new Uint8Array(sealCallStart(keyring, start)),
      headers: traceparent === undefined ? {} : { [TRACE_HEADER]: traceparent },
      redirect: 'error',
      signal: AbortSignal.any([signal, late.signal]),
    });
    const response = await within(ACCEPT_MS, request);
    if (!response.ok) {
      await response.body?.cancel();
      return null;
    }
    const read = async () => {
      const sealed = new Uint8Array(await within(RESULT_MS, response.arrayBuffer()));
      return sealed.length === 0 ? null : openCallResult(keyring, callId, sealed);
    };
    // A worker that dies before it has answered leaves the call to another one.
    return { result: read().catch(() => null) };
  }

  return {
    async start(start, signal) {
      const { isFast, actsOnWorld, pool } = start.request.policy;
      const url = urls.get(pool);
      if (url === undefined || isFast !== true || actsOnWorld) return null;
      if (performance.now() < (pausedUntil.get(pool) ?? 0)) return null;
      // A worker that is unreachable, stopping or of an older version is no fault: the orchestrator then runs the call.
      const started = await post(url, start, signal).catch(() => null);
      if (started === null) pausedUntil.set(pool, performance.now() + PAUSE_MS);
      return started;
    },
  };
}
