import type { Readiness } from '../../../../platform/readiness.ts';
import { SAMPLED_MINUTES } from '../../../../store/status/poolSamples.ts';
import type { PoolSample, PoolSampleDoc } from '../../../../store/status/statusDocs.ts';
import { columnChart } from '../../components/chart.ts';
import { table } from '../../components/table.ts';
import { count, number } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { OPERATOR_PATH } from '../paths.ts';
import { readinessList } from '../readinessList.ts';

export const POOLS_PATH = `${OPERATOR_PATH}/pools`;

const MINUTE_MS = 60_000;

interface PoolsPage {
  viewer: Viewer;
  readiness: Readiness;
  /** Oldest first. */
  samples: readonly PoolSampleDoc[];
  now: Date;
}

/** A minute of a queue; null if it was not sampled. */
interface Minute {
  /** Such as `14:05`, in UTC. */
  label: string;
  sample: PoolSample | null;
}

const timeOf = (at: Date): string => at.toISOString().slice(11, 16);

/** The last hour of a queue by minute, oldest first. */
function minutesOf(queue: string, { samples, now }: PoolsPage): Minute[] {
  const byMinute = new Map(samples.map(({ at, queues }) => [at.getTime(), queues[queue] ?? null]));
  const last = Math.floor(now.getTime() / MINUTE_MS) * MINUTE_MS;
  return Array.from({ length: SAMPLED_MINUTES }, (_, index) => {
    const at = last - (SAMPLED_MINUTES - 1 - index) * MINUTE_MS;
    return { label: timeOf(new Date(at)), sample: byMinute.get(at) ?? null };
  });
}

/** Calls that run: those that hold credits, without those that wait for a worker. */
const runningOf = ({ calls, waiting }: PoolSample): number => Math.max(0, (calls ?? 0) - waiting);

function chart(queue: string, page: PoolsPage): Html {
  const minutes = minutesOf(queue, page);
  const latest = page.samples.at(-1)?.queues[queue];
  const most = Math.max(0, ...minutes.map(({ sample }) => sample?.waiting ?? 0));
  const runsCalls = latest !== undefined && latest.calls !== null;
  return columnChart({
    title: queue,
    unit: runsCalls ? 'call' : 'task',
    summary:
      latest === undefined
        ? 'not sampled'
        : `${runsCalls ? `${number(runningOf(latest))} running, ` : ''}${number(latest.waiting)} waiting, ${count(latest.workers, 'worker')}${most === 0 ? '' : `; at most ${number(most)} waiting`}`,
    series: [
      ...(runsCalls ? [{ name: 'running', tone: 'accent' as const }] : []),
      { name: 'waiting', tone: 'bad' },
    ],
    columns: minutes.map(({ label, sample }) =>
      sample === null
        ? { label, note: 'not sampled', values: [] }
        : { label, values: [...(runsCalls ? [runningOf(sample)] : []), sample.waiting] },
    ),
  });
}

/** A minute with the states of all queues. */
const cellOf = (queue: string) => (row: PoolSampleDoc) => {
  const sample = row.queues[queue];
  if (sample === undefined) return '–';
  const running = sample.calls === null ? '' : `${number(runningOf(sample))} + `;
  return `${running}${number(sample.waiting)} (${number(sample.workers)})`;
};

function charts(page: PoolsPage): Html {
  const { samples } = page;
  const queues = Object.keys(samples.at(-1)?.queues ?? {});
  if (queues.length === 0)
    return html`<p class="quiet">There are no samples of the last hour yet. The API takes one each minute.</p>`;
  return html`<div class="charts">
${queues.map((queue) => chart(queue, page))}</div>
<details><summary>View as table</summary>
${table<PoolSampleDoc>(
  'By minute (UTC), newest first: running + waiting (workers)',
  [
    { title: 'Minute', cell: ({ at }) => timeOf(at) },
    ...queues.map((queue) => ({ title: queue, cell: cellOf(queue) })),
  ],
  samples.toReversed(),
)}
</details>`;
}

/** For operators: the queues and pools in the last hour. */
export const operatorPoolsPage = (page: PoolsPage): string =>
  layout({
    title: 'Queues and pools',
    menu: { viewer: page.viewer, section: 'Operator' },
    parent: { path: OPERATOR_PATH, name: 'Operator' },
    main: html`<p class="lead">The last hour by minute (UTC): calls that run and tasks that wait for a worker. Above each chart is the
newest sample, with the number of workers that poll the queue.</p>
${readinessList(page.readiness)}
${charts(page)}
<p class="quiet">The number of calls that a worker can run at once is a metric of the worker, <code>utility_tools_pool_slots</code>.</p>`,
  });
