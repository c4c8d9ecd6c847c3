import type { Difference, ScheduleRow, ScheduleRunRow } from '../../../../schemas/schedules.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { alert, type Failure } from '../../components/alert.ts';
import { actionButton, confirmation, postForm, referenceField } from '../../components/form.ts';
import { pager } from '../../components/pager.ts';
import { table } from '../../components/table.ts';
import { copyable, count, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { batchPath } from '../batches/paths.ts';
import { jobPath } from '../jobs/paths.ts';
import { SCHEDULES_PATH, schedulePath } from './paths.ts';
import { pauseText, runBadge, scheduleBadge } from './state.ts';

interface SchedulePage {
  viewer: Viewer;
  schedule: ScheduleRow;
  runs: Page<ScheduleRunRow>;
  cursor: string | undefined;
  /** UUID of the form that runs the schedule now, so that a form that is sent twice runs it once. */
  reference: string;
  failure?: Failure;
}

const OVERLAPS = {
  skip: 'is skipped',
  queue: 'waits',
  cancel: 'replaces it',
} as const satisfies Record<ScheduleRow['overlap'], string>;
const ON_CHANGE = {
  off: 'not compared',
  changed: 'compared; a callback when they differ',
  always: 'compared; a callback after each run',
} as const satisfies Record<ScheduleRow['onChange'], string>;

/** The address of a picture on this site, whatever the public URL of the API was when it was stored. */
function localUrl(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function pictureView({ changedPixels, pixels, url }: NonNullable<Difference['picture']>): Html {
  const share = ((100 * changedPixels) / pixels).toFixed(2);
  return html`<p>${count(changedPixels, 'pixel')} of ${number(pixels)} changed (${share}&nbsp;%).</p>
${
  url === null
    ? null
    : html`<a href="${localUrl(url)}"><img class="difference" src="${localUrl(url)}" loading="lazy" alt="The new picture in grey, with what has changed in red"></a>`
}`;
}

function differenceView({ added, removed, lines, picture }: Difference): Html {
  return html`<details><summary>${number(added)} new, ${number(removed)} gone</summary>
${lines.length === 0 ? null : html`<ul class="changes">${lines.map(({ change, text }) => (change === 'added' ? html`<li><ins>${typed(text)}</ins></li>` : html`<li><del>${typed(text)}</del></li>`))}</ul>`}
</details>
${picture === null ? null : pictureView(picture)}`;
}

function resultLink({ jobId, batchId }: ScheduleRunRow): Html | null {
  if (jobId !== null) return html`<a href="${jobPath(jobId)}">Job</a>`;
  return batchId === null ? null : html`<a href="${batchPath(batchId)}">Batch</a>`;
}

function changeCell({ changed, difference }: ScheduleRunRow): Html {
  if (difference !== null) return differenceView(difference);
  return html`<span class="quiet">${changed === null ? 'not compared' : 'no change'}</span>`;
}

const runTable = (runs: readonly ScheduleRunRow[]): Html =>
  table<ScheduleRunRow>(
    'Runs, by their times, latest first',
    [
      { title: 'Due', cell: ({ dueAt }) => moment(dueAt) },
      { title: 'State', cell: runBadge },
      { title: 'Cause', isLabelled: true, cell: ({ origin }) => origin },
      { title: 'Credits', numeric: true, cell: ({ charged }) => number(charged) },
      { title: 'Change', isLabelled: true, cell: changeCell },
      { title: 'Result', cell: resultLink },
    ],
    runs,
    { isCompact: true },
  );

function actionsOf({ viewer, schedule: { id, name, paused }, reference }: SchedulePage): Html {
  const path = schedulePath(id);
  return html`<div class="actions">
${postForm({
  action: `${path}/trigger`,
  viewer,
  kind: 'inline',
  content: html`${referenceField(reference)}<button>Run now</button>`,
})}
${paused ? actionButton(viewer, `${path}/resume`, 'Continue') : actionButton(viewer, `${path}/pause`, 'Pause')}
${confirmation({
  action: `${path}/delete`,
  viewer,
  label: 'Delete',
  of: name,
  text: 'The schedule and the list of its runs are deleted. Jobs and batches that it has created continue.',
})}
</div>`;
}

/** A schedule with its latest runs and what they have changed. */
export function schedulePage(page: SchedulePage): string {
  const { viewer, schedule, runs, cursor, failure } = page;
  const { id, batch, callbackUrl } = schedule;
  const pause = pauseText(schedule);
  return layout({
    title: schedule.name,
    menu: { viewer, section: 'Schedules' },
    parent: { path: SCHEDULES_PATH, name: 'Schedules' },
    main: html`${alert(failure ?? null)}<p class="lead">${scheduleBadge(schedule)}${pause === null ? null : html` ${pause}`}</p>
${actionsOf(page)}
<dl class="facts">
<div><dt>Schedule id</dt> <dd>${copyable(id)}</dd></div>
<div><dt>Runs</dt> <dd>${schedule.tools.join(', ')}${batch === null ? ' as a job' : html`, a batch of ${count(batch.rows, 'row')}`}</dd></div>
<div><dt>Times</dt> <dd><code>${schedule.cron}</code> in the time zone ${schedule.timeZone}</dd></div>
<div><dt>Next run</dt> <dd>${moment(schedule.nextAt, 'none')}</dd></div>
<div><dt>Price of a run</dt> <dd>${count(schedule.cost, 'credit')}</dd></div>
<div><dt>A run during an earlier one</dt> <dd>${OVERLAPS[schedule.overlap]}</dd></div>
<div><dt>Results</dt> <dd>${ON_CHANGE[schedule.onChange]}</dd></div>
<div><dt>Callbacks</dt> <dd>${callbackUrl === null ? 'none' : typed(callbackUrl)}</dd></div>
</dl>
<h2 id="runs">Runs</h2>
${runs.items.length === 0 ? html`<p class="quiet">It has not run yet.</p>` : runTable(runs.items)}
${pager({ path: schedulePath(id), query: {}, cursor, nextCursor: runs.nextCursor })}`,
  });
}
