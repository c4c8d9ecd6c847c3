import type { AutoTopUpDoc } from '../../../../store/billing/topUpRunDocs.ts';
import { MAX_CREDITS } from '../../../billing/adjustment.ts';
import { topUpFailure } from '../../../billing/topUpTexts.ts';
import type { Failure } from '../../components/alert.ts';
import { inputField, selectField } from '../../components/field.ts';
import { actionButton, postForm, referenceField } from '../../components/form.ts';
import { price } from '../../components/price.ts';
import { count, moment } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { CREDITS_PATH, type Selling } from './paths.ts';

export const TOP_UP_PATH = `${CREDITS_PATH}/top-up`;

/** Names of the fields are those of the form; the ids on the page are the same. */
export const TOP_UP_LABELS = {
  below: 'When the balance falls below (credits)',
  topUpPack: 'Buy',
  monthlyLimit: 'At most per month',
};

/** Values of the fields as they were entered. */
export interface TopUpEntered {
  below: string;
  topUpPack: string;
  monthlyLimit: string;
}

export interface TopUpSection {
  viewer: Viewer;
  selling: NonNullable<Selling>;
  settings: AutoTopUpDoc | null;
  /** Cost of the top-ups of this month, in hundredths of the currency unit. */
  spent: number;
  reference: string;
  entered?: TopUpEntered;
  failure: Failure | null;
}

function stateLine({ settings, spent }: TopUpSection): Html {
  if (settings === null || settings.state === 'off') return html`<p>Automatic top-ups are off.</p>`;
  const { below, pack, monthlyLimit } = settings;
  const terms = html`when a charge takes the balance below ${count(below, 'credit')}, we buy ${count(pack.credits, 'credit')} for ${price(pack.amount, pack.currency)}, once, and spend at most ${price(monthlyLimit, pack.currency)} in a calendar month (UTC)`;
  if (settings.state === 'pending')
    return html`<p>Automatic top-ups start when Stripe reports that your card is saved: ${terms}. Save the settings again to open the page of Stripe once more.</p>`;
  return html`<p><strong>Automatic top-ups are on:</strong> ${terms}. This month: ${price(spent, pack.currency)}.</p>`;
}

const failureLine = ({ settings }: TopUpSection): Html | null =>
  settings === null || settings.failure === null
    ? null
    : html`<p class="alert">A top-up was not made at ${moment(settings.failure.at.toISOString())}. ${topUpFailure(settings.failure.reason)}</p>`;

/** Values of the form: those that were entered, else the settings. */
function valuesOf({ entered, settings, selling }: TopUpSection): TopUpEntered {
  if (entered !== undefined) return entered;
  if (settings === null)
    return { below: '', topUpPack: String(selling.packs[0]?.credits ?? ''), monthlyLimit: '' };
  return {
    below: String(settings.below),
    topUpPack: String(settings.pack.credits),
    monthlyLimit: (settings.monthlyLimit / 100).toFixed(2),
  };
}

const cardButton = ({ selling, settings }: TopUpSection): Html | null =>
  selling.by === 'stripe' && settings !== null && settings.card !== null
    ? html` <button class="plain" name="card" value="new">Save and use another card</button>`
    : null;

/** The settings of automatic top-ups. */
export function topUpSection(section: TopUpSection): Html {
  const { viewer, selling, settings, reference, failure } = section;
  const values = valuesOf(section);
  return html`<h2 id="top-up">Automatic top-up</h2>
${failureLine(section)}${stateLine(section)}
${settings === null || settings.state === 'off' ? null : actionButton(viewer, `${TOP_UP_PATH}/off`, 'Switch off')}
${postForm({
  action: TOP_UP_PATH,
  viewer,
  content: html`${referenceField(reference)}
${inputField({
  name: 'below',
  label: TOP_UP_LABELS.below,
  type: 'number',
  value: values.below,
  hint: 'Only a charge that crosses it counts. If the balance is lower already, buy a pack first.',
  attributes: { required: '', min: 1, max: MAX_CREDITS, inputmode: 'numeric' },
  failure,
})}
${selectField({
  name: 'topUpPack',
  label: TOP_UP_LABELS.topUpPack,
  options: selling.packs.map(({ credits, amount, currency }) => ({
    value: String(credits),
    label: `${count(credits, 'credit')} for ${price(amount, currency)}`,
  })),
  value: values.topUpPack,
  failure,
})}
${inputField({
  name: 'monthlyLimit',
  label: TOP_UP_LABELS.monthlyLimit,
  value: values.monthlyLimit,
  hint: 'An amount in the currency of the pack, such as 50. No top-up exceeds it.',
  attributes: { required: '', inputmode: 'decimal', maxlength: 9 },
  failure,
})}
${selling.by === 'stripe' ? html`<p>You enter a card on Stripe's page, which is charged without asking you again.</p>` : null}
<p class="actions"><button>${settings?.state === 'on' ? 'Save' : 'Switch on'}</button>${cardButton(section)}</p>`,
})}`;
}
