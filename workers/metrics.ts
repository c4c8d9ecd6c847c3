import type { Client } from '@temporalio/client';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type BrowserMetrics, PHASES, type Phase } from '../activities/browser/metrics.ts';
import type { ObserveAttempt } from '../activities/runtime/toolActivities.ts';
import type { ObserveDelivery } from '../activities/webhooks/deliveryActivities.ts';
import { untilAborted } from '../egress/clock.ts';
import type { Waiting } from '../store/maintenance.ts';
import { MAINTENANCE, type MaintenanceDoc } from '../store/mongo.ts';
import type { Sweep } from '../store/sweeper.ts';
import { queueLength } from './platform/healthChecks.ts';
import { PREFIX, SECONDS } from './platform/metricsRegistry.ts';

/** Slots, and what the tools do with them. */
export function observeTools(registry: Registry, slots: number): ObserveAttempt {
  const registers = [registry];
  new Gauge({ name: `${PREFIX}pool_slots`, help: 'Calls that this worker can run at once.', registers }).set(
    slots,
  );
  const busy = new Gauge({
    name: `${PREFIX}pool_busy`,
    help: 'Calls running on this worker.',
    registers,
  });
  const attempts = new Histogram({
    name: `${PREFIX}tool_seconds`,
    help: 'Seconds of attempts on the worker, by tool and outcome (ok or the error code).',
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

/** Registers the metric of webhook attempts. */
export function observeDeliveries(registry: Registry): ObserveDelivery {
  const attempts = new Histogram({
    name: `${PREFIX}webhook_attempt_seconds`,
    help: 'Seconds of webhook attempts until the response, by outcome (delivered or failed).',
    labelNames: ['outcome'],
    buckets: SECONDS,
    registers: [registry],
  });
  return (outcome, ms) => attempts.observe({ outcome }, ms / 1000);
}

/** Registers metrics of this worker's browsers. */
export function observeBrowsers(registry: Registry, metrics: BrowserMetrics): void {
  const registers = [registry];
  new Gauge({
    name: `${PREFIX}browser_jobs`,
    help: 'Jobs waiting for a browser (queued) or using one (running).',
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
    'Completed phases of renders.',
    'phase',
    phases(({ count }) => count),
  );
  count(
    'browser_phase_seconds_total',
    'Seconds spent in each phase of renders.',
    'phase',
    phases(({ totalMs }) => totalMs / 1000),
  );
  count(
    'browsers_total',
    'Browsers by event: started, recycled after their jobs, discarded after a job that did not end, crashed, ended for memory use, hung, or failed to start.',
    'event',
    () => {
      const { overMemory, ...events } = metrics.browsers;
      return { ...events, over_memory: overMemory };
    },
  );
}

/** What the orchestrators read from MongoDB for their metrics. */
export interface ServiceFigures {
  countOldHolds(): Promise<number>;
  findWaiting(): Promise<Waiting>;
  readMaintenance(): Promise<MaintenanceDoc[]>;
}

/** Gauges of what waits, by the figure that they show. */
const WAITING: readonly (readonly [figure: keyof Waiting, name: string, help: string])[] = [
  ['oldestHoldSeconds', 'oldest_hold_seconds', 'Age of the oldest hold in seconds.'],
  ['refundsOwed', 'refunds_owed', 'Charged calls without a result whose price was not returned yet.'],
  ['oldestRefundSeconds', 'oldest_refund_seconds', 'Seconds for which the oldest refund has been owed.'],
  [
    'oldestDeliverySeconds',
    'oldest_delivery_seconds',
    'Seconds for which the oldest delivery has been due, without endpoints whose last attempt failed.',
  ],
  ['disabledEndpoints', 'webhook_endpoints_disabled', 'Disabled webhook endpoints.'],
];

/** Prometheus waits 10 s for a scrape. During an outage of MongoDB the other metrics must still arrive. */
const READ_TIMEOUT_MS = 3000;

/** The gauges of a scrape share one read: a scrape collects them at the same time. */
function shareRead<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  return () => {
    running ??= untilAborted(read(), AbortSignal.timeout(READ_TIMEOUT_MS)).finally(() => {
      running = null;
    });
    return running;
  };
}

/** Registers metrics of holds, refunds and deliveries that wait. */
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

/** Registers metrics of the audit and of backups. A job that never ran has the time 0. */
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
    'Time of the last completed audit or backup.',
    'succeededAt',
  );
  observeTimes(
    'maintenance_last_failure_timestamp_seconds',
    'Time of the last failed audit or backup.',
    'failedAt',
  );
  new Gauge({
    name: `${PREFIX}audit_drift`,
    help: 'Differences that the last audit found.',
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

/** Registers metrics of queue lengths, old holds and sweeps. @returns the function that records a sweep */
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
            this.set({ queue }, await queueLength(client, queue));
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
    help: 'Holds older than 10 minutes. If above 0, inspect the workflows of their calls.',
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
    help: 'Calls without a running workflow and holds without a running call that sweeps ended.',
    labelNames: ['what'],
    registers,
  });
  // increase() sees the first event only if the series existed before it.
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
