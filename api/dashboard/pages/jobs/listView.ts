import { JOB_KEPT_HOURS, JOB_STATES, type JobRow, type JobState } from '../../../../schemas/jobs.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { alert, empty, type Failure } from '../../components/alert.ts';
import { selectField } from '../../components/field.ts';
import { pager } from '../../components/pager.ts';
import { suspension } from '../../components/suspension.ts';
import { table } from '../../components/table.ts';
import { moment, number } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { JOBS_PATH, jobPath } from './paths.ts';
import { jobOutcome } from './state.ts';

interface JobsPage {
  viewer: Viewer;
  jobs: Page<JobRow>;
  /** Undefined: jobs in all states. */
  state: JobState | undefined;
  cursor: string | undefined;
  failure?: Failure;
}

const filterForm = (state = ''): Html =>
  html`<form class="filter" method="get" action="${JOBS_PATH}">
${selectField({
  name: 'state',
  label: 'State',
  value: state,
  options: [{ value: '', label: 'any' }, ...JOB_STATES.map((value) => ({ value, label: value }))],
  failure: null,
})}
<button class="plain">Show</button>
</form>`;

const jobTable = (jobs: readonly JobRow[]): Html =>
  table<JobRow>(
    'Jobs, newest first',
    [
      {
        title: 'Accepted',
        cell: ({ id, createdAt }) => html`<a href="${jobPath(id)}">${moment(createdAt)}</a>`,
      },
      { title: 'Tool', cell: ({ tool }) => html`<a href="/dashboard/tools/${tool}">${tool}</a>` },
      { title: 'State', cell: jobOutcome },
      { title: 'Credits', numeric: true, cell: ({ charged }) => number(charged) },
      { title: 'Ended', isLabelled: true, cell: ({ endedAt }) => moment(endedAt, 'not yet') },
    ],
    jobs,
    { isCompact: true },
  );

/** The jobs of an account, without the rows of its batches. */
export const jobsPage = ({ viewer, jobs, state, cursor, failure }: JobsPage): string =>
  layout({
    title: 'Jobs',
    menu: { viewer, section: 'Jobs' },
    main: html`${alert(failure ?? null)}${suspension(viewer.account)}
<p class="lead">A job is a call that runs in the background, and whose result is kept here. Programs create jobs. For many calls there are <a href="/dashboard/batches">batches</a>.</p>
${filterForm(state)}
${
  jobs.items.length === 0
    ? empty(
        state === undefined
          ? html`<p>There are no jobs yet. <a href="/docs/jobs#create-a-job">Create one from a program</a></p>`
          : html`<p>No job is in this state. <a href="${JOBS_PATH}">Show all jobs</a>.</p>`,
      )
    : jobTable(jobs.items)
}
${pager({ path: JOBS_PATH, query: state === undefined ? {} : { state }, cursor, nextCursor: jobs.nextCursor })}
<p class="quiet">Jobs and their results are kept for ${JOB_KEPT_HOURS} hours after their end.</p>`,
  });
