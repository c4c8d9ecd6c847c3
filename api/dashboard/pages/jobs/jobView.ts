import { ERRORS, type ServiceError } from '../../../../schemas/errors.ts';
import type { JobState } from '../../../../schemas/jobs.ts';
import type { ToolDefinition } from '../../../../schemas/tool.ts';
import type { JobDoc } from '../../../../store/jobs/jobDocs.ts';
import { actionButton } from '../../components/form.ts';
import { remedyOf } from '../../components/remedy.ts';
import { copyable, count, moment, number, prose, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { batchPath } from '../batches/paths.ts';
import { callPath } from '../calls/callView.ts';
import { resultView } from '../calls/result.ts';
import { JOBS_PATH, jobPath } from './paths.ts';
import { jobOutcome } from './state.ts';

/** The result and the files that an ended job has stored. */
export type JobContent =
  | { output: Record<string, unknown> }
  | { error: ServiceError }
  /** Its time is over. */
  | 'gone';

interface JobPage {
  viewer: Viewer;
  job: JobDoc;
  /** Undefined if the tool no longer exists. */
  tool: ToolDefinition | undefined;
  /** Null: the job has not ended. */
  content: JobContent | null;
}

const STATES: Record<JobState, string> = {
  queued: 'It waits for a free worker. No credits are reserved before it runs.',
  running: 'It runs. Its price is reserved, and charged only if there is a result.',
  succeeded: 'There is a result, which was charged.',
  failed: 'There is no result, and nothing was charged.',
  cancelled: 'It was cancelled, and nothing was charged.',
};

function errorView(error: ServiceError, keyId: string | null): Html {
  const { code, detail, members } = error;
  return html`<h2>What went wrong</h2>
<p><strong>${ERRORS[code].title}.</strong> ${prose(members.errors === undefined ? detail : detail.replace(' "errors" lists the faults.', ''))}</p>
${
  members.errors === undefined
    ? null
    : html`<ul>${members.errors.map(({ pointer, message }) => html`<li><code>${pointer === '' ? '/' : pointer}</code> ${prose(message)}</li>`)}</ul>`
}
${remedyOf(code, keyId)}
<p><a href="/docs/errors#${code}">About <code>${code}</code></a></p>`;
}

function contentView({ job, tool, content }: JobPage): Html | null {
  if (content === null) return null;
  if (content === 'gone') return html`<p class="quiet">The result is no longer kept.</p>`;
  if ('error' in content) return job.state === 'failed' ? errorView(content.error, job.keyId) : null;
  if (tool === undefined) return null;
  return html`<section class="box" aria-labelledby="result">
<h2 id="result">Result</h2>
${resultView(tool, content.output)}
</section>`;
}

function callbackFact({ callback }: JobDoc): Html | null {
  if (callback === null) return null;
  const { url, state, attempts, statusCode, error } = callback;
  const last = statusCode === null ? error : `HTTP status ${statusCode}`;
  return html`<div><dt>Callback</dt> <dd>${typed(url)}: ${state}, ${count(attempts, 'attempt')}${last === null ? null : html`, the latest: ${typed(last)}`}</dd></div>
`;
}

/** The button that sends the callback again; null if none was sent. */
function resendOf({ viewer, job: { _id, callback } }: JobPage): Html | null {
  if (callback === null || callback.state === 'waiting') return null;
  return html`<div class="actions">${actionButton(viewer, `${jobPath(_id)}/callbacks/resend`, 'Send the callback again')}</div>`;
}

/** A job or a row of a batch, with its result. */
export function jobPage(page: JobPage): string {
  const { viewer, job } = page;
  const { batchId, row = 0, rowId } = job;
  const isRow = batchId !== undefined;
  const isOpen = job.endedAt === null;
  const time = (date: Date | null) => moment(date?.toISOString() ?? null, 'not yet');
  return layout({
    title: isRow ? `Row ${number(row)} of a batch` : `${job.tool} job`,
    menu: { viewer, section: isRow ? 'Batches' : 'Jobs' },
    parent: isRow
      ? { path: `${batchPath(batchId)}#rows`, name: 'Rows of the batch' }
      : { path: JOBS_PATH, name: 'Jobs' },
    main: html`<p class="lead">${jobOutcome(job)} ${STATES[job.state]}</p>
${isOpen ? html`<div class="actions"><a class="button" href="${jobPath(job._id)}">Show the newest state</a>${isRow ? null : actionButton(viewer, `${jobPath(job._id)}/cancel`, 'Cancel the job')}</div>` : null}
<dl class="facts">
<div><dt>Tool</dt> <dd><a href="/dashboard/tools/${job.tool}">${job.tool}</a></dd></div>
${rowId == null ? null : html`<div><dt>Row id</dt> <dd>${typed(rowId)}</dd></div>`}
<div><dt>${isRow ? 'Call id' : 'Job id'}</dt> <dd>${copyable(job._id)}</dd></div>
<div><dt>Key</dt> <dd>${job.keyPrefix === null ? html`none: created in the dashboard` : html`<code>${job.keyPrefix}…</code>`}</dd></div>
<div><dt>Price</dt> <dd>${count(job.policy.price, 'credit')}</dd></div>
<div><dt>Charged</dt> <dd>${count(job.charged, 'credit')}</dd></div>
<div><dt>Accepted</dt> <dd>${time(job.createdAt)}</dd></div>
<div><dt>Started</dt> <dd>${time(job.startedAt)}</dd></div>
<div><dt>Ended</dt> <dd>${time(job.endedAt)}</dd></div>
${callbackFact(job)}</dl>
${resendOf(page)}
${job.startedAt === null ? null : html`<p><a href="${callPath(job._id)}">Details of the call</a></p>`}
${contentView(page)}`,
  });
}
