import type { AccountRow, KeyRow } from '../../../../schemas/accountRows.ts';
import { MAX_FAILURES } from '../../../../schemas/webhookLimits.ts';
import type { WebhookRow } from '../../../../schemas/webhookRows.ts';
import { icon } from '../../components/icons.ts';
import { count, moment, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';

/** Conditions that can need the owner's attention. */
export interface Attention {
  account: AccountRow;
  /** Days for which the credits last; null if unknown. */
  daysLeft: number | null;
  keys: readonly KeyRow[];
  endpoints: readonly WebhookRow[];
  now: Date;
}

/** A key that expires within this time is reported. */
const EXPIRY_MS = 7 * 86_400_000;
/** Credits that last for fewer days are reported. */
const FEW_DAYS = 3;

const buy = html`<a href="/dashboard/credits">Buy credits</a>`;

function creditsItem({ account: { available, lowThreshold }, daysLeft }: Attention): Html[] {
  if (available === 0) return [html`No credits are left. Calls are refused. ${buy}`];
  if (available < lowThreshold) return [html`Only ${count(available, 'credit')} left. ${buy}`];
  if (daysLeft !== null && daysLeft < FEW_DAYS)
    return [
      html`At the current pace the credits last ${daysLeft === 0 ? 'less than a day' : count(daysLeft, 'day')}. ${buy}`,
    ];
  return [];
}

/** Disabled endpoints, and active ones whose latest attempts failed. Their pages list the attempts. */
const endpointItems = ({ endpoints }: Attention): Html[] =>
  endpoints
    .filter(({ state, consecutiveFailures }) => state === 'disabled' || consecutiveFailures > 0)
    .map(({ id, url, state, consecutiveFailures: failures }) => {
      const link = html`<a href="/dashboard/webhooks/${encodeURIComponent(id)}#attempts">${typed(url)}</a>`;
      return state === 'disabled'
        ? html`The webhook endpoint ${link} is disabled. Its events are held.`
        : html`The last ${failures === 1 ? 'attempt' : count(failures, 'attempt')} to deliver to the webhook endpoint ${link} failed. After
${MAX_FAILURES} it is disabled.`;
    });

const keyItems = ({ keys, now }: Attention): Html[] =>
  keys
    .filter(({ revokedAt, expiresAt }) => {
      const left = expiresAt === null ? Number.NaN : Date.parse(expiresAt) - now.getTime();
      return revokedAt === null && left > 0 && left < EXPIRY_MS;
    })
    .map(
      ({ name, expiresAt }) =>
        html`The key <a href="/dashboard/keys">${typed(name)}</a> expires on ${moment(expiresAt)}.`,
    );

/** A list of the conditions that need attention, with links; null if there are none. */
export function attentionList(attention: Attention): Html | null {
  const items = [...creditsItem(attention), ...endpointItems(attention), ...keyItems(attention)];
  return items.length === 0
    ? null
    : html`<section class="attention" aria-label="Needs attention">
<ul>${items.map((item) => html`<li>${icon('warning')}<span>${item}</span></li>`)}</ul>
</section>`;
}
