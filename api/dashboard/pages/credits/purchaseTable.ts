import type { Purchase } from '../../../../store/billing/payments.ts';
import { price } from '../../components/price.ts';
import { type Column, type Look, table } from '../../components/table.ts';
import { badge, copyable, moment, number } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';

function stateOf({ refunded, amount, disputes, test, refundDue }: Purchase): Html[] {
  const disputed = disputes.some(({ stage }) => stage === 'open' || stage === 'lost');
  return [
    ...(test ? [badge('test')] : []),
    ...(disputed ? [badge('disputed', 'bad')] : []),
    ...(refundDue ? [badge('to be refunded', 'bad')] : []),
    refunded === 0 ? badge('paid', 'good') : badge(refunded < amount ? 'partly refunded' : 'refunded', 'bad'),
  ];
}

const REFUNDED: Column<Purchase> = {
  title: 'Refunded',
  numeric: true,
  cell: ({ refunded, currency }) => price(refunded, currency),
};

/** Paths of the pages of documents, which differ for owners and operators. */
interface Paths {
  receiptPath(paymentId: string): string;
  invoicePath(number: string): string;
}

const invoiceColumn = ({ invoicePath }: Paths): Column<Purchase> => ({
  title: 'Invoice',
  cell: ({ invoiced }) =>
    html`${(invoiced?.numbers ?? []).map((number) => html`<a href="${invoicePath(number)}">${number}</a> `)}`,
});

/** A table of purchases. */
export const purchaseTable = (
  purchases: readonly Purchase[],
  caption: string,
  paths: Paths,
  look: Look = { isCompact: true },
): Html =>
  table<Purchase>(
    caption,
    [
      { title: 'When', cell: ({ paidAt }) => moment(paidAt.toISOString()) },
      { title: 'Credits', numeric: true, cell: ({ credits }) => number(credits) },
      { title: 'Price', numeric: true, cell: ({ amount, currency }) => price(amount, currency) },
      ...(purchases.some(({ refunded }) => refunded > 0) ? [REFUNDED] : []),
      { title: 'State', cell: (row) => html`${stateOf(row).map((word) => html`${word} `)}` },
      { title: 'Payment', cell: ({ _id }) => copyable(_id) },
      ...(purchases.some(({ invoiced }) => invoiced !== undefined) ? [invoiceColumn(paths)] : []),
      {
        title: 'Receipt',
        cell: ({ _id }) =>
          html`<a href="${paths.receiptPath(_id)}">Receipt<span class="unseen"> of payment ${_id}</span></a>`,
      },
    ],
    purchases,
    look,
  );
