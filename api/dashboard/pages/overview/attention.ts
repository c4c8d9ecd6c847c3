import type { AccountRow, KeyRow, RefusalRow } from '../../../../schemas/accountRows.ts';
import { ERRORS, isErrorCode } from '../../../../schemas/errors.ts';
import { MAX_FAILURES } from '../../../../schemas/webhookLimits.ts';
import type { WebhookRow } from '../../../../schemas/webhookRows.ts';
import type { AutoTopUpDoc } from '../../../../store/billing/topUpRunDocs.ts';
import { topUpFailure } from '../../../billing/topUpTexts.ts';
import { reachedShare } from '../../../calls/attention.ts';
import { icon } from '../../components/icons.ts';
import { count, moment, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { keyPath } from '../keys/keyView.ts';
import { REFUSED_PATH } from '../refused/view.ts';

/** Conditions that can need the owner's attention. */
export interface Attention {
  account: AccountRow;
  /** Days for which the credits last; null if unknown. */
  daysLeft: number | null;
  keys: readonly KeyRow[];
  endpoints: readonly WebhookRow[];
  /** The newest refused requests. */
  refusals: readonly RefusalRow[];
  /** Automatic top-ups; null if the account has never had any. */
  topUp: AutoTopUpDoc | null;
  now: Date;
}

const DAY_MS = 86_400_000;
/** A key that expires within this time is reported. */
const EXPIRY_MS = 7 * DAY_MS;
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

const keyLink = (key: KeyRow): Html => html`<a href="${keyPath(key)}">${typed(key.name)}</a>`;

const keyItems = ({ keys, now }: Attention): Html[] =>
  keys
    .filter(({ revokedAt, expiresAt }) => {
      const left = expiresAt === null ? Number.NaN : Date.parse(expiresAt) - now.getTime();
      return revokedAt === null && left > 0 && left < EXPIRY_MS;
    })
    .map(
      (key) =>
        html`The key ${keyLink(key)} expires on ${moment(key.expiresAt)}. Its calls are refused then, unless you set a later day.`,
    );

/** Codes that an item names. */
const NAMED_CODES = 3;

/** The requests that were refused in the last day, by code. */
function refusedItem({ refusals, now }: Attention): Html[] {
  const recent = refusals.filter(({ lastAt }) => now.getTime() - Date.parse(lastAt) < DAY_MS);
  const numberOf = (rows: readonly RefusalRow[]) => rows.reduce((sum, { count: one }) => sum + one, 0);
  const byCode = [...Map.groupBy(recent, ({ code }) => code ?? 'various')]
    .map(([code, rows]) => ({ code, requests: numberOf(rows) }))
    .sort((a, b) => b.requests - a.requests);
  if (byCode.length === 0) return [];
  const codes = byCode
    .slice(0, NAMED_CODES)
    .map(
      ({ code, requests }, index) =>
        html`${index === 0 ? null : ', '}${number(requests)} × ${isErrorCode(code) ? ERRORS[code].title : code}`,
    );
  const others = byCode.length > NAMED_CODES ? ' and others' : '';
  return [
    html`${count(numberOf(recent), 'request was', 'requests were')} refused in the last 24 hours: ${codes}${others}. <a href="${REFUSED_PATH}">Show why</a>`,
  ];
}

/** Live keys that have spent most or all of a budget. */
const budgetItems = ({ keys, now }: Attention): Html[] =>
  keys
    .filter(
      ({ revokedAt, expiresAt }) =>
        revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > now.getTime()),
    )
    .flatMap((key) => {
      const link = keyLink(key);
      const raise = html`<a href="${keyPath(key)}#limits">Raise the budget</a>`;
      return (
        [
          ['day', key.spentToday, key.dailyBudget],
          ['month', key.spentThisMonth, key.monthlyBudget],
        ] as const
      ).flatMap(([period, spent, budget]) => {
        const share = reachedShare(spent, budget);
        if (share === null || budget === null) return [];
        return share === 100
          ? [
              html`The key ${link} has used up its budget of ${count(budget, 'credit')} per ${period}. Its calls are refused until the next ${period}. ${raise}`,
            ]
          : [
              html`The key ${link} has spent ${number(spent)} of ${count(budget, 'credit')} per ${period}. ${raise}`,
            ];
      });
    });

/** The newest failure of an automatic top-up, until a later one succeeds or the owner changes the settings. */
function topUpItem({ topUp }: Attention): Html[] {
  if (topUp === null || topUp.failure === null) return [];
  const effect = topUp.state === 'off' ? ' Automatic top-ups are off now.' : '';
  return [
    html`An automatic top-up was not made at ${moment(topUp.failure.at.toISOString())}. ${topUpFailure(topUp.failure.reason)}${effect} <a href="/dashboard/credits#top-up">Settings</a>`,
  ];
}

/** A list of the conditions that need attention, with links; null if there are none. */
export function attentionList(attention: Attention): Html | null {
  const items = [
    ...creditsItem(attention),
    ...topUpItem(attention),
    ...refusedItem(attention),
    ...endpointItems(attention),
    ...budgetItems(attention),
    ...keyItems(attention),
  ];
  return items.length === 0
    ? null
    : html`<section class="attention" aria-label="Needs attention">
<ul>${items.map((item) => html`<li>${icon('warning')}<span>${item}</span></li>`)}</ul>
</section>`;
}
