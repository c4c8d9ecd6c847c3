import type { Client } from '@temporalio/client';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { type BrowserMetrics, PHASES, type Phase } from '../activities/browser/metrics.ts';
import type { ObserveAttempt } from '../activities/runtime/toolActivities.ts';
import type { Sweep } from '../store/sweeper.ts';
import { queueLength } from './platform/healthChecks.ts';
import { PREFIX, SECONDS } from './platform/metricsRegistry.ts';

/** Slots, and what the tools do with them. */
export function observeTools(registry: Registry, slots: number): ObserveAttempt {
  const registers = [registry];
  new Gauge({ name: `${PREFIX}pool_slots`, help: 'Calls that this worker runs at once.', registers }).set(
    slots,
  );
  const busy = new Gauge({
    name: `${PREFIX}pool_busy`,
    help: 'Calls that run on this worker now.',
    registers,
  });
  const attempts = new Histogram({
    name: `${PREFIX}tool_seconds`,
    help: 'Attempts at a tool by outcome (ok, or the code of the error), and their seconds on the worker.',
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

/** What the browsers of this worker do, and what becomes of them. */
export function observeBrowsers(registry: Registry, metrics: BrowserMetrics): void {
  const registers = [registry];
  new Gauge({
    name: `${PREFIX}browser_jobs`,
    help: 'Jobs that wait for a browser (queued), and that have one (running).',
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
    'How often each phase of a render was gone through.',
    'phase',
    phases(({ count }) => count),
  );
  count(
    'browser_phase_seconds_total',
    'Seconds that renders spent in each phase.',
    'phase',
    phases(({ totalMs }) => totalMs / 1000),
  );
  count(
    'browsers_total',
    'Browsers that were started, recycled after their jobs, discarded after one that did not end, crashed, ended over their memory, hung, or failed to start.',
    'event',
    () => {
      const { overMemory, ...events } = metrics.browsers;
      return { ...events, over_memory: overMemory };
    },
  );
}

/** What the orchestrator knows: how long the queues are, and what the sweeper found. @returns to be told of each sweep */
export function observeService(
  registry: Registry,
  client: Client,
  queues: readonly string[],
  countOldHolds: () => Promise<number>,
  onError: (error: unknown) => void,
): (sweep: Sweep) => void {
  const registers = [registry];
  new Gauge({
    name: `${PREFIX}queue_length`,
    help: 'Tasks that wait for a worker, about, by queue.',
    labelNames: ['queue'],
    registers,
    async collect() {
      for (const queue of queues)
        try {
          this.set({ queue }, await queueLength(client, queue));
        } catch (error) {
          this.remove({ queue });
          onError(error);
        }
    },
  });
  new Gauge({
    name: `${PREFIX}old_holds`,
    help: 'Holds older than 10 minutes. Above 0: look at their workflows.',
    registers,
    async collect() {
      try {
        this.set(await countOldHolds());
      } catch (error) {
        this.reset();
        onError(error);
      }
    },
  });
  const swept = new Counter({
    name: `${PREFIX}swept_total`,
    help: 'What sweeps had to end: calls whose workflow was gone, and holds that nobody owned.',
    labelNames: ['what'],
    registers,
  });
  return ({ ended, strayHolds }) => {
    swept.inc({ what: 'calls' }, ended);
    swept.inc({ what: 'holds' }, strayHolds);
  };
}

const SDK_DEADLINE_MS = 1000;

/** The process's own metrics followed by the SDK's. */
export async function withSdkMetrics(registry: Registry, sdkPort: number): Promise<string> {
  const signal = AbortSignal.timeout(SDK_DEADLINE_MS);
  const sdk = fetch(`http://127.0.0.1:${sdkPort}/metrics`, { signal }).then((response) => response.text());
  const [own, theirs] = await Promise.all([registry.metrics(), sdk]);
  return `${own}\n${theirs}`;
}
