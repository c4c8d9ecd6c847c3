import type { BatchRow } from '../../../../schemas/batches.ts';
import type { BatchDoc } from '../../../../store/batches/batchDocs.ts';
import { batchRow } from '../../../../store/batches/batchRow.ts';
import { amounts } from '../../components/amounts.ts';
import { count, number } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { batchPath } from './paths.ts';

const MINUTE_MS = 60_000;
/** Minutes above which a rest of time is given in hours. */
const LONG_MINUTES = 120;

/** Describes how long a batch still takes; `progress.js` does it in the same words. */
function leftOf(estimatedEndAt: string): string {
  const minutes = Math.ceil((Date.parse(estimatedEndAt) - Date.now()) / MINUTE_MS);
  if (minutes <= 1) return 'less than a minute left';
  return minutes <= LONG_MINUTES
    ? `about ${minutes} minutes left`
    : `about ${Math.round(minutes / 60)} hours left`;
}

function paceOf({ rate, estimatedEndAt }: BatchRow): string {
  if (rate === null) return '';
  return `${number(rate)} rows per second${estimatedEndAt === null ? '' : `, ${leftOf(estimatedEndAt)}`}`;
}

/** The progress of a batch that has been started: a bar, and the numbers of rows by outcome. */
export function progressView(batch: BatchDoc): Html {
  const row = batchRow(batch);
  const { counts, credits } = row;
  const ended = counts.rows - counts.open;
  const path = batchPath(batch._id);
  const isOver = batch.endedAt !== null;
  const limit = credits.max === null ? `of ${number(credits.total)} at most` : `limit ${number(credits.max)}`;
  return html`<div class="run-of"${isOver ? null : html` data-events="${path}/events" data-page="${path}" data-state="${batch.state}"`}>
<label for="progress"><span data-live="ended">${number(ended)}</span> of ${count(counts.rows, 'row')} ended</label>
<progress id="progress" max="${counts.rows}" value="${ended}"></progress>
${isOver ? null : html`<p class="quiet" data-pace>${paceOf(row)}</p><noscript><p><a href="${path}">Show the newest progress</a></p></noscript>`}
</div>
${amounts([
  { term: 'Rows', value: counts.rows, note: 'in the file' },
  { term: 'Charged', value: counts.charged, note: 'with a result', live: 'counts.charged' },
  { term: 'Failed', value: counts.refused, note: 'not charged', live: 'counts.refused' },
  { term: 'Cancelled', value: counts.cancelled, note: 'not charged', live: 'counts.cancelled' },
  { term: 'Open', value: counts.open, note: 'wait or run', live: 'counts.open' },
  { term: 'Credits', value: credits.charged, note: limit, live: 'credits.charged' },
])}`;
}
