import { Counter, Histogram, type Registry } from 'prom-client';
import { PREFIX, SECONDS } from '../../workers/platform/metricsRegistry.ts';
import type { PhaseTimes } from '../calls/phases.ts';
import type { Context } from './context.ts';

/** Metrics of the API. */
export interface ApiMetrics {
  /** Records the response to a request and its duration in seconds. */
  request(ctx: Context, seconds: number): void;
  /** Records the durations of the phases of a tool call. */
  phases(tool: string, times: PhaseTimes): void;
  /** Counts a call that is not a replay, by its error code or `ok`, with the credits charged. */
  call(tool: string, outcome: string, charged: number): void;
  /** Counts a mail that the mail server accepted, or that could not be sent. */
  mail(kind: string, outcome: 'sent' | 'failed'): void;
}

export function createApiMetrics(registry: Registry): ApiMetrics {
  const registers = [registry];
  const requests = new Histogram({
    name: `${PREFIX}http_request_seconds`,
    help: 'Duration of HTTP requests in seconds, by route, method and status.',
    labelNames: ['route', 'method', 'status'],
    buckets: SECONDS,
    registers,
  });
  const phases = new Histogram({
    name: `${PREFIX}call_phase_seconds`,
    help: 'Seconds of the phases of tool calls in the API.',
    labelNames: ['tool', 'phase'],
    buckets: SECONDS,
    registers,
  });
  const calls = new Counter({
    name: `${PREFIX}calls_total`,
    help: 'Calls by tool and outcome: ok or the error code. Replays are not counted.',
    labelNames: ['tool', 'outcome'],
    registers,
  });
  const credits = new Counter({
    name: `${PREFIX}credits_charged_total`,
    help: 'Credits charged for calls that this process handled.',
    labelNames: ['tool'],
    registers,
  });
  const mails = new Counter({
    name: `${PREFIX}mails_total`,
    help: 'Mails by kind and outcome: sent or failed.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  return {
    request(ctx, seconds) {
      // The route pattern, not the path: this bounds the number of label values and leaves out ids.
      const route = typeof ctx.routerPath === 'string' ? ctx.routerPath : 'none';
      requests.observe({ route, method: ctx.method, status: ctx.status }, seconds);
    },
    phases(tool, times) {
      for (const [phase, ms] of Object.entries(times)) phases.observe({ tool, phase }, ms / 1000);
    },
    call(tool, outcome, charged) {
      calls.inc({ tool, outcome });
      if (charged > 0) credits.inc({ tool }, charged);
    },
    mail: (kind, outcome) => mails.inc({ kind, outcome }),
  };
}
