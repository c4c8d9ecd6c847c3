import type { BatchDoc } from '../../../../store/batches/batchDocs.ts';
import type { JobDoc } from '../../../../store/jobs/jobDocs.ts';
import type { Page } from '../../../../store/mongo/pages.ts';
import { alert, empty, type Failure, notice } from '../../components/alert.ts';
import { confirmation } from '../../components/form.ts';
import { pager } from '../../components/pager.ts';
import { table } from '../../components/table.ts';
import { moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { toolsOf } from '../../pages/batches/listView.ts';
import { batchBadge, endedRows } from '../../pages/batches/state.ts';
import { jobOutcome } from '../../pages/jobs/state.ts';
import { accountPath, OPEN_WORK_PATH, OPERATOR_PATH } from '../paths.ts';

interface OpenWorkPage {
  viewer: Viewer;
  /** Id of the account of which the page shows the batches and jobs; null: of all. */
  account: string | null;
  batches: Page<BatchDoc>;
  cursor: string | undefined;
  /** Jobs that run, then those that wait. */
  jobs: readonly JobDoc[];
  /** Maximum number of jobs that run and of those that wait. */
  mostJobs: number;
  /** Addresses of the owners, by account id. */
  emails: ReadonlyMap<string, string>;
  /** The kind of work that the operator has just cancelled; null: none. */
  cancelled: 'batch' | 'job' | null;
  failure?: Failure;
}

const NEWS = {
  batch: 'The batch is being cancelled. Waiting rows are not charged; running rows finish.',
  job: 'The job is being cancelled. A job that acts on other machines runs to its end.',
} as const;

const ownerCell = (emails: OpenWorkPage['emails'], accountId: string): Html =>
  html`<a href="${accountPath(accountId)}">${typed(emails.get(accountId) ?? accountId)}</a>`;

const batchTable = ({ viewer, batches, emails }: OpenWorkPage): Html =>
  table<BatchDoc>(
    'Batches that have not ended, newest first',
    [
      { title: 'Created', cell: ({ createdAt }) => moment(createdAt.toISOString()) },
      { title: 'Account', cell: ({ accountId }) => ownerCell(emails, accountId) },
      { title: 'Tool', cell: toolsOf },
      { title: 'State', cell: batchBadge },
      { title: 'Rows', numeric: true, cell: ({ rows }) => number(rows) },
      { title: 'Ended', numeric: true, cell: (batch) => number(endedRows(batch)) },
      { title: 'Credits', numeric: true, cell: ({ credits }) => number(credits) },
      {
        title: 'Cancel',
        isAction: true,
        cell: ({ _id, state }) =>
          state === 'cancelling'
            ? null
            : confirmation({
                action: `${OPEN_WORK_PATH}/${encodeURIComponent(_id)}/cancel`,
                viewer,
                label: 'Cancel',
                of: _id,
                text: 'Waiting rows are cancelled; running rows finish. The owner sees a cancelled batch.',
              }),
      },
    ],
    batches.items,
    { isNamed: true },
  );

const jobTable = ({ viewer, jobs, emails }: OpenWorkPage): Html =>
  table<JobDoc>(
    'Jobs that have not ended, oldest first',
    [
      { title: 'Accepted', cell: ({ createdAt }) => moment(createdAt.toISOString()) },
      { title: 'Account', cell: ({ accountId }) => ownerCell(emails, accountId) },
      { title: 'Tool', cell: ({ tool }) => tool },
      { title: 'State', cell: jobOutcome },
      { title: 'Price', numeric: true, cell: ({ policy }) => number(policy.price) },
      {
        title: 'Cancel',
        isAction: true,
        cell: ({ _id }) =>
          confirmation({
            action: `${OPEN_WORK_PATH}/jobs/${encodeURIComponent(_id)}/cancel`,
            viewer,
            label: 'Cancel',
            of: _id,
            text: 'The owner sees a cancelled job. Nothing is charged.',
          }),
      },
    ],
    jobs,
    { isNamed: true },
  );

/** For operators: the batches and jobs of all accounts that have not ended. */
export function openWorkPage(page: OpenWorkPage): string {
  const { viewer, account, batches, cursor, jobs, mostJobs, cancelled, failure } = page;
  return layout({
    title: 'Batches and jobs',
    menu: { viewer, section: 'Operator' },
    parent: { path: OPERATOR_PATH, name: 'Operator' },
    main: html`${alert(failure ?? null)}${cancelled === null ? null : notice(html`<p>${NEWS[cancelled]}</p>`)}
<p class="lead">What has not ended, of ${account === null ? 'all accounts' : html`<a href="${accountPath(account)}">this account</a>`}. Workers take synchronous calls first.${account === null ? null : html` <a href="${OPEN_WORK_PATH}">Show all accounts</a>`}</p>
<h2>Batches</h2>
${batches.items.length === 0 ? empty(html`<p>All batches have ended.</p>`) : batchTable(page)}
${pager({ path: OPEN_WORK_PATH, query: account === null ? {} : { account }, cursor, nextCursor: batches.nextCursor })}
<h2>Jobs</h2>
${jobs.length === 0 ? empty(html`<p>All jobs have ended.</p>`) : jobTable(page)}
<p class="quiet">At most ${mostJobs} jobs that run and ${mostJobs} that wait are shown.</p>`,
  });
}
