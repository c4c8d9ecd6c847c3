import type { AccountRow } from '../../../schemas/accountRows.ts';
import type { Pack } from '../../../schemas/formats/packs.ts';
import type { GrantDoc, PaymentDoc } from '../../../store/mongo.ts';
import { alert, empty, type Failure, notice } from '../components/alert.ts';
import { amounts } from '../components/amounts.ts';
import { postForm, referenceField } from '../components/form.ts';
import { price } from '../components/price.ts';
import { suspension } from '../components/suspension.ts';
import { table } from '../components/table.ts';
import { badge, count, moment, newest, number } from '../components/text.ts';
import { type Html, html } from '../html.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

export const CREDITS_PATH = '/dashboard/credits';

/** How credits are sold; null when they are not. */
export type Selling = { by: 'stripe' | 'test'; packs: readonly Pack[] } | null;

/** Outcome of a checkout. */
export const OUTCOMES = {
  bought: 'The credits were added to your account.',
  paid: 'Thank you. The credits are added when Stripe confirms the payment, usually within seconds. Reload this page to see them.',
  cancelled: 'The purchase was cancelled. You were not charged.',
} as const;
export type Outcome = keyof typeof OUTCOMES;

export interface CreditsPage {
  viewer: Viewer;
  account: AccountRow;
  grants: readonly GrantDoc[];
  purchases: readonly PaymentDoc[];
  selling: Selling;
  /** Idempotency reference, generated for each page: sending the form twice makes one purchase. */
  reference: string;
  outcome?: Outcome;
  /** Credits of the newest purchase that settled the account's shortfall. */
  settled?: number;
  failure?: Failure;
}

export const testBanner = html`<p class="test"><strong>Test checkout:</strong> no payment is made, and no card is needed.</p>`;

export const packName = ({ credits }: Pick<Pack, 'credits'>): string => count(credits, 'credit');

function shop({ viewer, reference }: CreditsPage, selling: NonNullable<Selling>): Html {
  if (selling.packs.length === 0) return empty(html`<p>No credits are on sale at the moment.</p>`);
  const button = (pack: Pack) =>
    html`<button name="pack" value="${pack.credits}">${packName(pack)} for ${price(pack.amount, pack.currency)}</button>
`;
  return html`${selling.by === 'test' ? testBanner : html`<p>You pay on Stripe's page and then return here.</p>`}
${postForm({
  action: `${CREDITS_PATH}/buy`,
  viewer,
  content: html`${referenceField(reference)}
<div class="actions" id="pack">${selling.packs.map(button)}</div>`,
})}`;
}

function stateOf({ refunded, amount, disputes, test }: PaymentDoc): Html[] {
  const disputed = disputes.some(({ stage }) => stage === 'open' || stage === 'lost');
  return [
    ...(test ? [badge('test')] : []),
    ...(disputed ? [badge('disputed', 'bad')] : []),
    refunded === 0 ? badge('paid', 'good') : badge(refunded < amount ? 'partly refunded' : 'refunded', 'bad'),
  ];
}

const purchaseTable = (purchases: readonly PaymentDoc[]): Html =>
  table<PaymentDoc>(
    newest(purchases.length, 'purchase'),
    [
      { title: 'When', cell: ({ paidAt }) => moment(paidAt?.toISOString() ?? null) },
      { title: 'Credits', numeric: true, cell: ({ credits }) => number(credits) },
      { title: 'Price', numeric: true, cell: ({ amount, currency }) => price(amount, currency) },
      { title: 'Refunded', numeric: true, cell: ({ refunded, currency }) => price(refunded, currency) },
      { title: 'State', cell: (row) => html`${stateOf(row).map((word) => html`${word} `)}` },
      { title: 'Payment', cell: ({ _id }) => html`<code>${_id}</code>` },
    ],
    purchases,
  );

const grantTable = (grants: readonly GrantDoc[]): Html =>
  table<GrantDoc>(
    newest(grants.length, 'grant'),
    [
      { title: 'When', cell: ({ at }) => moment(at.toISOString()) },
      { title: 'Kind', cell: ({ type }) => type },
      { title: 'Requested', numeric: true, cell: ({ requested }) => number(requested) },
      { title: 'Applied', numeric: true, cell: ({ applied }) => number(applied) },
    ],
    grants,
  );

/** Describes the outcome of a purchase. Credits settle a shortfall first. */
function outcomeNotice(outcome: Outcome, { purchases, settled = 0 }: CreditsPage): Html {
  const [last] = purchases;
  if (last === undefined || settled === 0) return notice(html`<p>${OUTCOMES[outcome]}</p>`);
  return notice(html`${outcome === 'paid' ? html`<p>${OUTCOMES.paid}</p>` : null}
<p>Of the ${packName(last)} of the newest purchase, ${number(settled)} settled the account's shortfall${
    settled < last.credits ? '; the rest was added to your account' : ''
  }.</p>`);
}

/** The account's credits, packs on sale, purchases and grants. */
export const creditsPage = (page: CreditsPage): string => {
  const { viewer, account, grants, purchases, selling, outcome, failure } = page;
  return layout({
    title: 'Credits',
    menu: { viewer, section: 'Credits' },
    main: html`${suspension(viewer.account)}${alert(failure ?? null, selling?.packs.length ? { pack: 'The pack' } : {})}${outcome === undefined ? null : outcomeNotice(outcome, page)}
${amounts([
  { term: 'Available', value: account.available, note: 'for new calls' },
  { term: 'Balance', value: account.balance, note: 'granted minus charged' },
  { term: 'Reserved', value: account.reserved, note: 'by running calls' },
  { term: 'Allowance', value: account.monthlyAllowance, note: 'granted each month' },
])}
<h2>Buy credits</h2>
${selling === null ? empty(html`<p>Credits are not sold here. Ask the operator.</p>`) : shop(page, selling)}
<h2>Purchases</h2>
${purchases.length === 0 ? empty(html`<p>There are no purchases yet.</p>`) : purchaseTable(purchases)}
<h2>Grants</h2>
${
  grants.length === 0
    ? empty(html`<p>There are no grants or adjustments yet. The
<a href="/dashboard/ledger">ledger</a> lists every change of the balance.</p>`)
    : grantTable(grants)
}
<p>The <a href="/dashboard/tools">Tools</a> page lists the prices. Failed calls are not charged.</p>`,
  });
};
