import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Readiness } from './readiness.ts';

/** Name prefix of this project's metrics. SDK metrics begin with `temporal_`, Node's with `nodejs_` or `process_`. */
export const PREFIX = 'utility_tools_';

/** Histogram buckets in seconds, from the duration of a hash to that of the longest call. */
export const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 100];

/** Creates the metrics registry of a process, with the default metrics of Node. @param process name, used as a label */
export function createRegistry(process: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ process });
  collectDefaultMetrics({ register: registry });
  return registry;
}

export function observeReadiness(registry: Registry, readiness: () => Promise<Readiness>): void {
  new Gauge({
    name: `${PREFIX}ready`,
    help: 'Whether a readiness check succeeds (1) or fails (0), by check.',
    labelNames: ['check'],
    registers: [registry],
    async collect() {
      for (const [check, result] of Object.entries((await readiness()).checks))
        this.set({ check }, result === 'ok' ? 1 : 0);
    },
  });
}
