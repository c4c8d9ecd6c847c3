import type { BatchCallbackRow, PauseReason } from '../../../../schemas/batches.ts';
import type { Pack } from '../../../../schemas/formats/packs.ts';
import type { BatchDoc } from '../../../../store/batches/batchDocs.ts';
import { alert, type Failure } from '../../components/alert.ts';
import { actionButton, confirmation, postForm } from '../../components/form.ts';
import { icon } from '../../components/icons.ts';
import { suspension } from '../../components/suspension.ts';
import { copyable, moment, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { callbacksView } from './callbacksView.ts';
import { toolsOf } from './listView.ts';
import { BATCHES_PATH, batchPath } from './paths.ts';
import { progressView } from './progressView.ts';
import { rowsView, type ShownRows } from './rowsView.ts';
import { limitField, MAX_CREDITS_LABEL, startView } from './startView.ts';
import { batchBadge, isNotStarted } from './state.ts';

interface BatchPage extends ShownRows {
  viewer: Viewer;
  batch: BatchDoc;
  available: number;
  packs: readonly Pack[];
  /** The newest callbacks. */
  callbacks: readonly BatchCallbackRow[];
  /** Whether a tool of the batch returns files. */
  hasFiles: boolean;
  /** Value of the field for the limit of credits. */
  maxCredits: string;
  failure?: Failure;
}

const STATES: Record<Exclude<BatchDoc['state'], 'paused'>, string> = {
  creating: '',
  discarding: '',
  running: 'Rows run when workers are free. You can leave this page; the batch goes on.',
  cancelling: 'Waiting rows are cancelled; running rows finish.',
  completed: 'All rows have ended.',
  cancelled: 'The batch was cancelled. Results of rows that had ended are kept.',
};

const PAUSES: Record<PauseReason, Html> = {
  not_started: html`All rows are valid. Nothing runs, and nothing is charged, before you start the batch.`,
  requested: html`No further row starts until you resume the batch.`,
  max_credits: html`The next row would exceed the limit of credits. Raise the limit to continue.`,
  insufficient_credits: html`Too few credits are available. The batch continues within a minute after there are enough. <a href="/dashboard/credits">Buy credits</a>`,
  key_budget_exceeded: html`The budget of the API key that created the batch is used up. <a href="/dashboard/keys">Keys</a>`,
  account_suspended: html`The account is suspended.`,
  rate_limited: html`Too many calls of this account ended without a result. Resume the batch later.`,
};

const explanation = ({ state, pauseReason }: BatchDoc): Html =>
  state === 'paused' ? PAUSES[pauseReason ?? 'requested'] : html`${STATES[state]}`;

/** Buttons that pause, resume and cancel a batch that has not ended. */
function controls({ viewer, batch, maxCredits, failure }: BatchPage): Html | null {
  const path = batchPath(batch._id);
  if (batch.endedAt !== null || batch.state === 'cancelling') return null;
  const cancel = confirmation({
    action: `${path}/cancel`,
    viewer,
    label: 'Cancel the batch',
    text: 'Rows that wait are cancelled and not charged. This cannot be undone.',
  });
  if (batch.state === 'running')
    return html`<div class="actions">${actionButton(viewer, `${path}/pause`, 'Pause')}${cancel}</div>`;
  return html`<section class="box" aria-labelledby="resume">
<h2 id="resume">Resume</h2>
${postForm({
  action: `${path}/resume`,
  viewer,
  content: html`${limitField(maxCredits, failure ?? null)}
<button>${icon('play')}Resume</button>`,
})}
${cancel}
</section>`;
}

/** Links to the results, also of a batch that runs. */
function downloads({ batch, hasFiles }: BatchPage): Html {
  const path = batchPath(batch._id);
  const link = (file: string, name: string) =>
    html`<a class="button" href="${path}/${file}" download>${icon('download')}${name}</a>`;
  return html`<h2>Downloads</h2>
<div class="actions">${link('results.csv', 'Results (CSV)')}${link('results.ndjson', 'Results (NDJSON)')}${hasFiles ? link('files.zip', 'Files (ZIP)') : null}${batch.endedAt === null ? null : link('manifest.json', 'Manifest (JSON)')}</div>
${batch.endedAt === null ? html`<p class="quiet">They have the rows that have ended, up to the first one that has not.</p>` : null}`;
}

function facts({ batch }: BatchPage): Html {
  const { expiresAt, endedAt, keyPrefix, callbackUrl } = batch;
  return html`<dl class="facts">
<div><dt>Tool</dt> <dd>${batch.tools.map((name, index) => html`${index === 0 ? null : ', '}<a href="/dashboard/tools/${name}">${name}</a>`)}</dd></div>
<div><dt>Batch id</dt> <dd>${copyable(batch._id)}</dd></div>
<div><dt>Key</dt> <dd>${keyPrefix === null ? html`none: created in the dashboard` : html`<code>${keyPrefix}…</code>`}</dd></div>
<div><dt>Created</dt> <dd>${moment(batch.createdAt.toISOString())}</dd></div>
<div><dt>Ended</dt> <dd>${moment(endedAt?.toISOString() ?? null, 'not yet')}</dd></div>
<div><dt>${endedAt === null ? 'Cancelled at the latest' : 'Kept until'}</dt> <dd>${moment(expiresAt.toISOString())}</dd></div>
${callbackUrl === null ? null : html`<div><dt>Callback</dt> <dd>${typed(callbackUrl)}</dd></div>`}
</dl>`;
}

/** A batch: its price before it starts, then its progress, results and rows. */
export function batchPage(page: BatchPage): string {
  const { viewer, batch, failure = null } = page;
  const isNew = isNotStarted(batch);
  return layout({
    title: `Batch: ${toolsOf(batch)}`,
    menu: { viewer, section: 'Batches' },
    parent: { path: BATCHES_PATH, name: 'Batches' },
    main: html`${alert(failure, { maxCredits: MAX_CREDITS_LABEL })}${suspension(viewer.account)}
<p class="lead">${batchBadge(batch)} ${explanation(batch)}</p>
${
  isNew
    ? startView({ ...page, failure })
    : html`${progressView(batch)}
${controls(page)}
${downloads(page)}`
}
${rowsView(batch, page)}
${callbacksView(viewer, batch, page.callbacks)}
<h2>Details</h2>
${facts(page)}`,
  });
}
