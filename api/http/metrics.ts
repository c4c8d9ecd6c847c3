import { Counter, Histogram, type Registry } from 'prom-client';
import { PREFIX, SECONDS } from '../../workers/platform/metricsRegistry.ts';
import type { Context } from './context.ts';

/** What the API counts. */
export interface ApiMetrics {
  /** A request was answered, after `seconds`. */
  request(ctx: Context, seconds: number): void;
  /** A new call ended: charged (0 when it was not), with its code or `ok`. */
  call(tool: string, outcome: string, charged: number): void;
  /** A mail was handed to the mail server, or could not be. */
  mail(kind: string, outcome: 'sent' | 'failed'): void;
}

export function createApiMetrics(registry: Registry): ApiMetrics {
  const registers = [registry];
  const requests = new Histogram({
    name: `${PREFIX}http_request_seconds`,
    help: 'HTTP requests by route, method and status, and the seconds until they were answered.',
    labelNames: ['route', 'method', 'status'],
    buckets: SECONDS,
    registers,
  });
  const calls = new Counter({
    name: `${PREFIX}calls_total`,
    help: 'Calls by tool and outcome: ok, or the code of the error. Replays are not counted.',
    labelNames: ['tool', 'outcome'],
    registers,
  });
  const credits = new Counter({
    name: `${PREFIX}credits_charged_total`,
    help: 'Credits charged for the calls that this process answered.',
    labelNames: ['tool'],
    registers,
  });
  const mails = new Counter({
    name: `${PREFIX}mails_total`,
    help: 'Mails by kind and outcome: sent, or failed.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  return {
    request(ctx, seconds) {
      // The pattern, never the path: its values are few, and name nobody.
      const route = typeof ctx.routerPath === 'string' ? ctx.routerPath : 'none';
      requests.observe({ route, method: ctx.method, status: ctx.status }, seconds);
    },
    call(tool, outcome, charged) {
      calls.inc({ tool, outcome });
      if (charged > 0) credits.inc({ tool }, charged);
    },
    mail: (kind, outcome) => mails.inc({ kind, outcome }),
  };
}
