import type { Receipt } from '../../../billing/receipt.ts';
import { alert, type Failure } from '../../components/alert.ts';
import { typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout, type Parent, type Section } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

interface ReceiptPage {
  viewer: Viewer;
  receipt: Receipt;
  /** Path of the page, below which its files are. */
  path: string;
  section: Section;
  parent: Parent;
  /** Whether Stripe has a receipt of its own for the payment. */
  hasStripeReceipt: boolean;
  failure?: Failure;
}

const stripeLink = (path: string): Html =>
  html` <a class="button" href="${path}/stripe">Receipt of Stripe</a>`;

/** The receipt of a purchase. */
export function receiptPage({ viewer, receipt, path, section, parent, ...page }: ReceiptPage): string {
  const { hasStripeReceipt, failure } = page;
  return layout({
    title: 'Receipt',
    menu: { viewer, section },
    parent,
    main: html`${alert(failure ?? null)}
<dl class="facts">
${receipt.facts.map(
  ({ term, value }) => html`<div><dt>${term}</dt> <dd>${typed(value)}</dd></div>
`,
)}</dl>
<p class="actions"><a class="button" href="${path}/receipt.pdf" download>Download as PDF</a>${hasStripeReceipt ? stripeLink(path) : null}</p>`,
  });
}
