import type { Pack } from '../../../../schemas/formats/packs.ts';
import type { BatchDoc } from '../../../../store/batches/batchDocs.ts';
import { moneyOf } from '../../../billing/prices.ts';
import type { Failure } from '../../components/alert.ts';
import { inputField } from '../../components/field.ts';
import { confirmation, postForm } from '../../components/form.ts';
import { icon } from '../../components/icons.ts';
import { count, number } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { batchPath } from './paths.ts';

interface Start {
  viewer: Viewer;
  batch: BatchDoc;
  available: number;
  /** Packs on sale, from which the price in money derives. */
  packs: readonly Pack[];
  /** Value of the field for the limit of credits. */
  maxCredits: string;
  failure: Failure | null;
}

export const MAX_CREDITS_LABEL = 'Limit of credits';

/** The field for the limit of credits of a batch. */
export const limitField = (value: string, failure: Failure | null): Html =>
  inputField({
    name: 'maxCredits',
    label: MAX_CREDITS_LABEL,
    type: 'number',
    value,
    hint: 'Optional. The batch pauses instead of spending more.',
    attributes: { min: 1, step: 1, autocomplete: 'off' },
    failure,
  });

function firstRows(rows: number): string {
  if (rows === 0) return 'no row';
  return rows === 1 ? 'the first row' : `the first ${number(rows)} rows`;
}

/** Says how many of the rows the credits pay for. All rows have the same price: the dashboard creates batches of one tool. */
function coverage({ rows, totalCredits }: BatchDoc, available: number): Html {
  if (available >= totalCredits)
    return html`<p>${count(available, 'credit')} available: enough for all rows. Rows that fail are not charged.</p>`;
  const covered = Math.floor(available / (totalCredits / rows));
  return html`<p>${count(available, 'credit')} available: enough for ${firstRows(covered)}. Then the batch pauses, and continues by itself when there are enough. <a href="/dashboard/credits">Buy credits</a></p>`;
}

/** The price of a batch that has not been started, and what starts it. */
export function startView({ viewer, batch, available, packs, maxCredits, failure }: Start): Html {
  const { rows, totalCredits } = batch;
  const money = moneyOf(totalCredits, packs);
  return html`<section class="box" aria-labelledby="start">
<h2 id="start">Price</h2>
<p class="sum">${number(rows)} ${rows === 1 ? 'row' : 'rows'} × ${count(totalCredits / rows, 'credit')} = <strong>${count(totalCredits, 'credit')}</strong>${money === null ? null : html` (${money})`}</p>
${coverage(batch, available)}
${postForm({
  action: `${batchPath(batch._id)}/resume`,
  viewer,
  content: html`${limitField(maxCredits, failure)}
<button>${icon('play')}Start</button>`,
})}
${confirmation({
  action: `${batchPath(batch._id)}/cancel`,
  viewer,
  label: 'Discard',
  text: 'The batch is cancelled without a charge.',
})}
</section>`;
}
