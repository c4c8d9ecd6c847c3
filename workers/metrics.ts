import type { Client } from '@temporalio/client';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type BrowserMetrics, PHASES, type Phase } from '../activities/browser/metrics.ts';
import type { ObserveAttempt } from '../activities/runtime/toolActivities.ts';
import type { ObserveDelivery } from '../activities/webhooks/attemptDelivery.ts';
import { queueState } from '../platform/healthChecks.ts';
import { PREFIX, SECONDS } from '../platform/metricsRegistry.ts';
import { untilAborted } from '../platform/untilAborted.ts';
import type { Sweep } from '../store/calls/sweeper.ts';
import { MAINTENANCE, type MaintenanceDoc } from '../store/status/statusDocs.ts';
import type { Waiting } from '../store/status/waiting.ts';

/** Registers metrics of this worker's slots and tool attempts. @returns the function to call when an attempt starts */
export function observeTools(registry: Registry, slots: number): ObserveAttempt {
  const registers = [registry];
  new Gauge({
    name: `${PREFIX}pool_slots`,
    help: 'Number of calls that this worker can run at once.',
    registers,
  }).set(slots);
  const busy = new Gauge({
    name: `${PREFIX}pool_busy`,
    help: 'Number of calls that this worker is running.',
    registers,
  });
  const attempts = new Histogram({
    name: `${PREFIX}tool_seconds`,
    help: 'Duration of tool attempts on this worker in seconds, by tool and outcome (ok or the error code).',
    labelNames: ['tool', 'outcome'],
    buckets: SECONDS,
    registers,
  });
  return (tool) => {
    busy.inc();
    const started = performance.now();
    return (outcome) => {
      busy.dec();
      attempts.observe({ tool, outcome }, (performance.now() - started) / 1000);
    };
  };
}

/** Registers the metric of webhook attempts. @returns the function that records an attempt */
export function observeDeliveries(registry: Registry): ObserveDelivery {
  const attempts = new Histogram({
    name: `${PREFIX}webhook_attempt_seconds`,
    help: 'Duration of webhook attempts until the response headers in seconds, by outcome (delivered or failed).',
    labelNames: ['outcome'],
    buckets: SECONDS,
    registers: [registry],
  });
  return (outcome, ms) => attempts.observe({ outcome }, ms / 1000);
}

export function observeBrowsers(registry: Registry, metrics: BrowserMetrics): void {
  const registers = [registry];
  new Gauge({
    name: `${PREFIX}browser_jobs`,
    help: 'Number of calls that wait for a browser (queued) or use one (running).',
    labelNames: ['state'],
    registers,
    collect() {
      this.set({ state: 'queued' }, metrics.queued);
      this.set({ state: 'running' }, metrics.running);
    },
  });
  const count = (name: string, help: string, label: string, values: () => Record<string, number>) =>
    new Counter({
      name: `${PREFIX}${name}`,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset();
        for (const [value, total] of Object.entries(values())) this.inc({ [label]: value }, total);
      },
    });
  const phases = (figure: (phase: BrowserMetrics['phases'][Phase]) => number) => () =>
    Object.fromEntries(PHASES.map((phase) => [phase, figure(metrics.phases[phase])]));
  count(
    'browser_phases_total',
    'Completed phases of page renders, by phase.',
    'phase',
    phases(({ count }) => count),
  );
  count(
    'browser_phase_seconds_total',
    'Total duration of completed page render phases in seconds, by phase.',
    'phase',
    phases(({ totalMs }) => totalMs / 1000),
  );
  count(
    'browsers_total',
    'Browsers by event: started, recycled (replaced after a number of calls), discarded (after a call that timed out or crashed its page), crashed, over_memory (killed above the memory limit), hung (did not respond), or failed (did not start).',
    'event',
    () => {
      const { overMemory, ...events } = metrics.browsers;
      return { ...events, over_memory: overMemory };
    },
  );
}

/** Queries of MongoDB whose results the orchestrators export as metrics. */
interface ServiceFigures {
  countOldHolds(): Promise<number>;
  findWaiting(): Promise<Waiting>;
  readMaintenance(): Promise<MaintenanceDoc[]>;
}

/** Gauges of holds, refunds, deliveries, endpoints and payments that wait, each with the field of `Waiting` that it exports. */
const WAITING: readonly (readonly [figure: keyof Waiting, name: string, help: string])[] = [
  ['oldestHoldSeconds', 'oldest_hold_seconds', 'Age of the oldest hold in seconds.'],
  [
    'refundsOwed',
    'refunds_owed',
    'Number of charged calls whose result was not delivered and whose price has not been refunded yet.',
  ],
  ['oldestRefundSeconds', 'oldest_refund_seconds', 'Age of the oldest outstanding refund in seconds.'],
  [
    'oldestDeliverySeconds',
    'oldest_delivery_seconds',
    'Seconds for which the oldest webhook delivery has been due, except those of endpoints whose last attempt failed.',
  ],
  ['disabledEndpoints', 'webhook_endpoints_disabled', 'Number of disabled webhook endpoints.'],
  [
    'paymentsToRefund',
    'payments_to_refund',
    'Number of payments that reached a closed account and were not refunded yet.',
  ],
];

/** Timeout of a read from MongoDB. Prometheus waits 10 s, so that an outage of MongoDB does not hide the other metrics. */
const READ_TIMEOUT_MS = 3000;

/** Lets the gauges of a scrape, which are collected concurrently, share one database read. */
function shareRead<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () => {
    running ??= untilAborted(read(), AbortSignal.timeout(READ_TIMEOUT_MS)).finally(() => {
      running = null;
    });
    return running;
  };
}

function observeWaiting(
  registry: Registry,
  findWaiting: () => Promise<Waiting>,
  onError: (error: unknown) => void,
): void {
  const read = shareRead(findWaiting);
  for (const [figure, name, help] of WAITING)
    new Gauge({
      name: `${PREFIX}${name}`,
      help,
      registers: [registry],
      async collect() {
        try {
          this.set((await read())[figure]);
        } catch (error) {
          this.remove();
          onError(error);
        }
      },
    });
}

/** Registers metrics of the audit and of backups. A job that has never run is exported with the timestamp 0. */
function observeMaintenance(
  registry: Registry,
  readMaintenance: () => Promise<MaintenanceDoc[]>,
  onError: (error: unknown) => void,
): void {
  const read = shareRead(readMaintenance);
  const observeTimes = (name: string, help: string, field: 'succeededAt' | 'failedAt') =>
    new Gauge({
      name: `${PREFIX}${name}`,
      help,
      labelNames: ['what'],
      registers: [registry],
      async collect() {
        this.reset();
        try {
          const rows = await read();
          for (const what of MAINTENANCE) {
            const at = rows.find(({ _id }) => _id === what)?.[field];
            this.set({ what }, (at?.getTime() ?? 0) / 1000);
          }
        } catch (error) {
          onError(error);
        }
      },
    });
  observeTimes(
    'maintenance_last_success_timestamp_seconds',
    'Unix time in seconds of the last completed audit or backup; 0 if there was none.',
    'succeededAt',
  );
  observeTimes(
    'maintenance_last_failure_timestamp_seconds',
    'Unix time in seconds of the last failed audit or backup; 0 if there was none.',
    'failedAt',
  );
  new Gauge({
    name: `${PREFIX}audit_drift`,
    help: 'Number of differences between accounts and their ledger entries that the last audit found.',
    registers: [registry],
    async collect() {
      this.remove();
      try {
        const drift = (await read()).find(({ _id }) => _id === 'audit')?.drift;
        if (drift !== undefined) this.set(drift);
      } catch (error) {
        onError(error);
      }
    },
  });
}

/** Registers the metrics that concern the whole service instead of one worker. @returns the function that records a sweep */
export function observeService(
  registry: Registry,
  client: Client,
  queues: readonly string[],
  service: ServiceFigures,
  onError: (error: unknown) => void,
): (sweep: Sweep) => void {
  const registers = [registry];
  new Gauge({
    name: `${PREFIX}queue_length`,
    help: 'Approximate number of tasks waiting for a worker, by queue.',
    labelNames: ['queue'],
    registers,
    async collect() {
      await Promise.all(
        queues.map(async (queue) => {
          try {
            this.set({ queue }, (await queueState(client, queue)).waiting);
          } catch (error) {
            this.remove({ queue });
            onError(error);
          }
        }),
      );
    },
  });
  const countOldHolds = shareRead(service.countOldHolds);
  new Gauge({
    name: `${PREFIX}old_holds`,
    help: 'Number of holds older than 10 minutes. If above 0, inspect the workflows of their calls.',
    registers,
    async collect() {
      try {
        this.set(await countOldHolds());
      } catch (error) {
        this.remove();
        onError(error);
      }
    },
  });
  observeWaiting(registry, service.findWaiting, onError);
  observeMaintenance(registry, service.readMaintenance, onError);
  const swept = new Counter({
    name: `${PREFIX}swept_total`,
    help: 'Calls without a running workflow (calls) and holds without a running call (holds) that the sweeper ended.',
    labelNames: ['what'],
    registers,
  });
  // Creates both series with 0, because Prometheus's increase() misses the first event of a series that starts with it.
  for (const what of ['calls', 'holds']) swept.inc({ what }, 0);
  return ({ ended, strayHolds }) => {
    swept.inc({ what: 'calls' }, ended);
    swept.inc({ what: 'holds' }, strayHolds);
  };
}

const SDK_TIMEOUT_MS = 1000;

/** Returns the process's metrics followed by the SDK's, in Prometheus's text format. */
export async function withSdkMetrics(registry: Registry, sdkPort: number): Promise<string> {
  const signal = AbortSignal.timeout(SDK_TIMEOUT_MS);
  const sdk = fetch(`http://127.0.0.1:${sdkPort}/metrics`, { signal }).then((response) => response.text());
  const [own, sdkText] = await Promise.all([registry.metrics(), sdk]);
  return `${own}\n${sdkText}`;
}
