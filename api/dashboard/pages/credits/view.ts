import type { AccountRow } from '../../../../schemas/accountRows.ts';
import type { Pack } from '../../../../schemas/formats/packs.ts';
import type { Registry } from '../../../../schemas/registry.ts';
import type { GrantDoc } from '../../../../store/accounts/accountDocs.ts';
import type { Purchase } from '../../../../store/billing/payments.ts';
import { worthOf } from '../../../billing/prices.ts';
import { alert, empty, type Failure, notice } from '../../components/alert.ts';
import { amounts } from '../../components/amounts.ts';
import { postForm, referenceField } from '../../components/form.ts';
import { price, unitPrice } from '../../components/price.ts';
import { suspension } from '../../components/suspension.ts';
import { type Column, table } from '../../components/table.ts';
import { count, moment, newest, number, typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { balanceAlerts, THRESHOLD_LABEL } from './alerts.ts';
import { BILLING_PATH, CREDITS_PATH, invoicePath, receiptPath, type Selling } from './paths.ts';
import { purchaseTable } from './purchaseTable.ts';
import { CEILING_LABEL, topUpForm } from './topUps.ts';
import { TOP_UP_LABELS, type TopUpEntered, type TopUpSection, topUpSection } from './topUpView.ts';

const LABELS = { pack: 'The pack', threshold: THRESHOLD_LABEL, ceiling: CEILING_LABEL, ...TOP_UP_LABELS };

/** Outcome of a checkout or of another action on the page. */
export const OUTCOMES = {
  bought: 'The credits were added to your account.',
  alert: 'The alert was set.',
  'no-alert': 'The alert was removed.',
  mails: 'You get an email when requests are refused or a key nears its budget.',
  'top-ups': 'The purchases by programs were changed.',
  'no-mails': 'You get no more emails about refused requests and budgets.',
  'top-up': 'Automatic top-ups are on.',
  'no-top-up': 'Automatic top-ups are off.',
  card: 'Thank you. The card is saved, and automatic top-ups are on, when Stripe reports it, usually within seconds. Reload this page to see it.',
  'no-card': 'No card was saved.',
  billing: 'The billing details were saved. They are part of the invoices of later purchases.',
  paid: 'Thank you. The credits are added when Stripe confirms the payment, usually within seconds. Reload this page to see them.',
  cancelled: 'The purchase was cancelled. You were not charged.',
} as const;
export type Outcome = keyof typeof OUTCOMES;

export interface CreditsPage {
  viewer: Viewer;
  account: AccountRow;
  grants: readonly GrantDoc[];
  purchases: readonly Purchase[];
  selling: Selling;
  registry: Registry;
  sendsMail: boolean;
  /** Whether purchases get an invoice. */
  issuesInvoices: boolean;
  topUp: Pick<TopUpSection, 'settings' | 'spent'>;
  /** Values of a refused form of automatic top-ups. */
  entered?: TopUpEntered;
  /** Value of the field for a new alert. */
  threshold?: string;
  /** Whether programs can buy credits on this installation. */
  sellsToPrograms: boolean;
  /** Value of the field for the ceiling of their purchases, after a fault. */
  ceiling?: string;
  /** Idempotency reference, generated for each page: sending the form twice makes one purchase. */
  reference: string;
  outcome?: Outcome;
  /** Credits of the newest purchase that settled the account's shortfall. */
  settled?: number;
  failure?: Failure;
}

export const testBanner = html`<p class="test"><strong>Test checkout:</strong> no payment is made, and no card is needed.</p>`;

export const packName = ({ credits }: Pick<Pack, 'credits'>): string => count(credits, 'credit');

function shop(page: CreditsPage, selling: NonNullable<Selling>): Html {
  const { viewer, reference } = page;
  if (selling.packs.length === 0) return empty(html`<p>No credits are on sale at the moment.</p>`);
  const offer = (pack: Pack) =>
    html`<li><button name="pack" value="${pack.credits}">${packName(pack)} for ${price(pack.amount, pack.currency)}</button>
<small>${unitPrice(pack.amount, pack.credits, pack.currency)} per credit</small>
<small>${worthOf(pack.credits, page.registry)}</small></li>
`;
  return html`${selling.by === 'test' ? testBanner : html`<p>You pay on Stripe's page and then return here.</p>`}
${postForm({
  action: `${CREDITS_PATH}/buy`,
  viewer,
  kind: 'inline',
  content: html`${referenceField(reference)}
<ul class="packs" id="pack">
${selling.packs.map(offer)}</ul>`,
})}`;
}

/** Says which details invoices will have, and where to change them. */
function billingLine({ account: { billing } }: Viewer): Html {
  const change = html`<a href="${BILLING_PATH}">${billing === undefined ? 'Enter billing details' : 'Change the billing details'}</a>`;
  return html`<p>Each purchase gets an invoice, ${
    billing === undefined
      ? html`which names only the id of your account. ${change} before you buy.`
      : html`to <strong>${typed(billing.name)}</strong>. ${change}.`
  }</p>`;
}

const topUpRuns = (page: CreditsPage, selling: NonNullable<Selling>): Html => {
  const { viewer, reference, failure = null, topUp, entered } = page;
  return topUpSection({ viewer, selling, reference, failure, ...topUp, ...(entered && { entered }) });
};

/** The requested amount of an adjustment; it differs from the applied one if the balance was smaller. */
const REQUESTED: Column<GrantDoc> = {
  title: 'Requested',
  numeric: true,
  cell: ({ requested }) => number(requested),
};

const grantTable = (grants: readonly GrantDoc[]): Html =>
  table<GrantDoc>(
    newest(grants.length, 'entry', 'entries'),
    [
      { title: 'When', cell: ({ at }) => moment(at.toISOString()) },
      {
        title: 'Kind',
        cell: ({ type, operator }) => (operator === undefined ? type : `${type} by an operator`),
      },
      ...(grants.some(({ requested, applied }) => requested !== applied) ? [REQUESTED] : []),
      { title: 'Credits', numeric: true, cell: ({ applied }) => number(applied) },
    ],
    grants,
    { isNamed: true, isCompact: true },
  );

/** The amounts; without running calls and an allowance there is only one. */
const creditAmounts = ({ available, balance, reserved, monthlyAllowance }: AccountRow): Html =>
  amounts([
    { term: 'Available', value: available, note: 'for new calls' },
    ...(reserved === 0
      ? []
      : [
          { term: 'Reserved', value: reserved, note: 'by running calls' },
          { term: 'Balance', value: balance, note: 'both together' },
        ]),
    ...(monthlyAllowance === 0
      ? []
      : [{ term: 'Allowance', value: monthlyAllowance, note: 'granted each month' }]),
  ]);

/** Outcomes that mean that a purchase was paid. */
export const PURCHASED: ReadonlySet<Outcome> = new Set(['bought', 'paid']);

/** Describes the outcome of a purchase. Credits settle a shortfall first. */
function outcomeNotice(outcome: Outcome, { purchases, settled = 0 }: CreditsPage): Html {
  const [last] = purchases;
  if (!PURCHASED.has(outcome) || last === undefined || settled === 0)
    return notice(html`<p>${OUTCOMES[outcome]}</p>`);
  return notice(html`${outcome === 'paid' ? html`<p>${OUTCOMES.paid}</p>` : null}
<p>Of the ${packName(last)} of the newest purchase, ${number(settled)} settled the account's shortfall${
    settled < last.credits ? '; the rest was added to your account' : ''
  }.</p>`);
}

/** The account's credits, packs on sale, alerts and purchases, and the credits that it got or lost otherwise. */
export const creditsPage = (page: CreditsPage): string => {
  const { viewer, account, grants, purchases, selling, outcome, failure } = page;
  const others = grants.filter(({ type }) => type !== 'purchase');
  return layout({
    title: 'Credits',
    menu: { viewer, section: 'Credits' },
    main: html`${suspension(viewer.account)}${alert(failure ?? null, selling?.packs.length ? LABELS : { threshold: THRESHOLD_LABEL, ceiling: CEILING_LABEL })}${outcome === undefined ? null : outcomeNotice(outcome, page)}
${creditAmounts(account)}
<h2>Buy credits</h2>
${selling === null ? empty(html`<p>Credits are not sold here.</p>`) : shop(page, selling)}
${page.issuesInvoices ? billingLine(viewer) : null}
${selling === null || selling.packs.length === 0 ? null : topUpRuns(page, selling)}
${page.sellsToPrograms ? topUpForm(viewer, page.ceiling, failure ?? null) : null}
${balanceAlerts(page)}
<h2>Purchases</h2>
${purchases.length === 0 ? empty(html`<p>There are no purchases yet.</p>`) : purchaseTable(purchases, newest(purchases.length, 'purchase'), { receiptPath, invoicePath }, { isNamed: true, isCompact: true })}
${
  others.length === 0
    ? null
    : html`<h2>Other credits</h2>
${grantTable(others)}`
}
<p class="quiet">The <a href="/dashboard/tools">tools</a> show what a call costs, and the <a href="/dashboard/ledger">ledger</a> every change of the balance.</p>`,
  });
};
