import { Counter, Histogram, type Registry } from 'prom-client';
import { PREFIX, SECONDS } from '../../platform/metricsRegistry.ts';
import { MAIL_KINDS, type MailKind } from '../mail/kinds.ts';
import type { Context } from './context.ts';
import type { PhaseTimes } from './phases.ts';

export interface ApiMetrics {
  /** Records the response to a request and its duration in seconds. */
  request(ctx: Context, seconds: number): void;
  /** Records the durations of the phases of a tool call. */
  phases(tool: string, times: PhaseTimes): void;
  /** Counts a call that is not a replay: its outcome, which is `ok` or an error code, and the credits charged. */
  call(tool: string, outcome: string, charged: number): void;
  /** Counts an email that the mail server accepted, or that could not be sent. */
  mail(kind: MailKind, outcome: 'sent' | 'failed'): void;
}

export function createApiMetrics(registry: Registry): ApiMetrics {
  const registers = [registry];
  const requests = new Histogram({
    name: `${PREFIX}http_request_seconds`,
    help: 'Duration of HTTP requests in seconds, by route, method and status code.',
    labelNames: ['route', 'method', 'status'],
    buckets: SECONDS,
    registers,
  });
  const phases = new Histogram({
    name: `${PREFIX}call_phase_seconds`,
    help: 'Duration of each phase of tool calls in the API, in seconds.',
    labelNames: ['tool', 'phase'],
    buckets: SECONDS,
    registers,
  });
  const calls = new Counter({
    name: `${PREFIX}calls_total`,
    help: 'Number of calls by tool and outcome (ok or the error code). Replays are not counted.',
    labelNames: ['tool', 'outcome'],
    registers,
  });
  const credits = new Counter({
    name: `${PREFIX}credits_charged_total`,
    help: 'Credits charged for calls that this process handled, by tool.',
    labelNames: ['tool'],
    registers,
  });
  const mails = new Counter({
    name: `${PREFIX}mails_total`,
    help: 'Number of emails by kind and outcome (sent or failed).',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  // Creates all series with 0, because Prometheus's rate() misses the first event of a series that starts with it.
  for (const kind of MAIL_KINDS) for (const outcome of ['sent', 'failed']) mails.inc({ kind, outcome }, 0);
  return {
    request(ctx, seconds) {
      // The label is the route pattern and not the path, which bounds the number of label values and leaves out ids.
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
