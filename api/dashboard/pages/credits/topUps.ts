import { invalidInput } from '../../../../schemas/errors.ts';
import { monthOf } from '../../../../store/ledger/allowance.ts';
import { MAX_CREDITS } from '../../../billing/adjustment.ts';
import type { Failure } from '../../components/alert.ts';
import { inputField } from '../../components/field.ts';
import { postForm } from '../../components/form.ts';
import { count } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Viewer } from '../../frame/viewer.ts';

export const TOP_UPS_PATH = '/dashboard/credits/top-ups';

export const CEILING_LABEL = 'At most per month (credits)';

/** Parses the monthly ceiling of purchases by programs; 0 permits none. @throws ServiceError invalid_input */
export function parseCeiling(text: string): number {
  const ceiling = /^\d{1,10}$/.test(text) ? Number(text) : -1;
  if (ceiling < 0 || ceiling > MAX_CREDITS)
    throw invalidInput([{ pointer: '/ceiling', message: `must be a whole number from 0 to ${MAX_CREDITS}` }]);
  return ceiling;
}

/** The form with which the owner permits programs to buy credits. @param ceiling value of the field after a fault */
export function topUpForm(viewer: Viewer, ceiling: string | undefined, failure: Failure | null): Html {
  const { topUps } = viewer.account;
  const bought = topUps !== undefined && topUps.month === monthOf(new Date()) ? topUps.credits : 0;
  return html`<h2 id="top-ups">Purchases by programs</h2>
<p>${
    topUps === undefined || topUps.ceiling === 0
      ? 'Programs cannot buy credits for this account.'
      : html`Programs have bought ${count(bought, 'credit')} of at most ${count(topUps.ceiling, 'credit')} this month (UTC).`
  } If you permit it, a program with a tool key of this account can pay for credits when there are too few for its call, with a payment
token of its own. <a href="/docs/agents#pay-for-calls">How programs pay</a></p>
${postForm({
  action: TOP_UPS_PATH,
  viewer,
  kind: 'filter',
  content: html`${inputField({
    name: 'ceiling',
    label: CEILING_LABEL,
    type: 'number',
    value: ceiling ?? String(topUps?.ceiling ?? 0),
    attributes: { required: '', min: 0, max: MAX_CREDITS, inputmode: 'numeric' },
    failure,
  })}
<button class="plain">Save</button>`,
})}`;
}
