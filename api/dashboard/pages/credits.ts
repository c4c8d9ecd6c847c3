import type { AccountRow } from '../../../schemas/accountRows.ts';
import type { Pack } from '../../../schemas/formats/packs.ts';
import type { GrantDoc, PaymentDoc } from '../../../store/mongo.ts';
import { type Html, html } from '../../html.ts';
import { alert, empty, type Failure, notice } from '../components/alert.ts';
import { amounts } from '../components/amounts.ts';
import { postForm, referenceField } from '../components/form.ts';
import { price } from '../components/price.ts';
import { suspension } from '../components/suspension.ts';
import { table } from '../components/table.ts';
import { badge, count, moment, newest, number } from '../components/text.ts';
import { layout } from '../layout.ts';
import type { Viewer } from '../viewer.ts';

export const CREDITS_PATH = '/dashboard/credits';

/** How credits are sold here; null: not at all. */
export type Selling = { by: 'stripe' | 'test'; packs: readonly Pack[] } | null;

/** What the buyer comes back from. */
export const OUTCOMES = {
  bought: 'The credits are on your account.',
  paid: 'Thank you. The credits are on your account as soon as Stripe has confirmed the payment, most often within seconds: look at this page again.',
  cancelled: 'Nothing was bought, and nothing was charged.',
} as const;
export type Outcome = keyof typeof OUTCOMES;

export interface CreditsPage {
  viewer: Viewer;
  account: AccountRow;
  grants: readonly GrantDoc[];
  purchases: readonly PaymentDoc[];
  selling: Selling;
  /** New on every page: a form that is sent twice is one purchase. */
  reference: string;
  outcome?: Outcome;
  /** How many credits of the newest purchase went to what the account owed. */
  settled?: number;
  failure?: Failure;
}

export const testBanner = html`<p class="test"><strong>Test checkout:</strong> no money moves, and no card is asked for.</p>`;

export const packName = ({ credits }: Pick<Pack, 'credits'>): string => count(credits, 'credit');

function shop({ viewer, reference }: CreditsPage, selling: NonNullable<Selling>): Html {
  if (selling.packs.length === 0) return empty(html`<p>No credits are on sale now.</p>`);
  const button = (pack: Pack) =>
    html`<button name="pack" value="${pack.credits}">${packName(pack)} for ${price(pack.amount, pack.currency)}</button>
`;
  return html`${selling.by === 'test' ? testBanner : html`<p>You pay on a page of Stripe and come back here.</p>`}
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
      { title: 'Asked', numeric: true, cell: ({ requested }) => number(requested) },
      { title: 'Applied', numeric: true, cell: ({ applied }) => number(applied) },
    ],
    grants,
  );

/** What became of a purchase: an account that owes credits gets them last. */
function said(outcome: Outcome, { purchases, settled = 0 }: CreditsPage): Html {
  const [last] = purchases;
  if (last === undefined || settled === 0) return notice(html`<p>${OUTCOMES[outcome]}</p>`);
  return notice(html`${outcome === 'paid' ? html`<p>${OUTCOMES.paid}</p>` : null}
<p>Of the ${packName(last)} of the newest purchase, ${number(settled)} settled what the account owed${
    settled < last.credits ? '; the others are on your account' : ''
  }.</p>`);
}

/** What the account has, packs to buy, and what was bought and granted. */
export const creditsPage = (page: CreditsPage): string => {
  const { viewer, account, grants, purchases, selling, outcome, failure } = page;
  return layout({
    title: 'Credits',
    menu: { viewer, section: 'Credits' },
    main: html`${suspension(viewer.account)}${alert(failure ?? null, selling?.packs.length ? { pack: 'The pack' } : {})}${outcome === undefined ? null : said(outcome, page)}
${amounts([
  { term: 'Available', value: account.available, note: 'for new calls' },
  { term: 'Balance', value: account.balance, note: 'granted minus charged' },
  { term: 'Reserved', value: account.reserved, note: 'by calls that run now' },
  { term: 'Allowance', value: account.monthlyAllowance, note: 'granted each month' },
])}
<h2>Buy credits</h2>
${selling === null ? empty(html`<p>Credits are not sold here; ask the operator for some.</p>`) : shop(page, selling)}
<h2>Purchases</h2>
${purchases.length === 0 ? empty(html`<p>Nothing was bought yet.</p>`) : purchaseTable(purchases)}
<h2>Grants</h2>
${
  grants.length === 0
    ? empty(html`<p>No credits were added or taken since the account was opened. The
<a href="/dashboard/ledger">ledger</a> has every change of the balance.</p>`)
    : grantTable(grants)
}
<p>The <a href="/dashboard/tools">tools</a> name their prices; a call that fails costs nothing.</p>`,
  });
};
