import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Context } from './context.ts';

/** Every name of ours begins so; the SDK's begin with `temporal_`, the runtime's with `nodejs_` and `process_`. */
export const PREFIX = 'utility_tools_';

/** Seconds: from a hash to the longest call. */
export const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 100];

/** The metrics of one process, with those of its runtime. */
export function createRegistry(process: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  collectDefaultMetrics({ register: registry });
  return registry;
}

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
