import { type BillingDocument, fitsPdf } from '../../../billing/billingDocument.ts';
import { alert, type Failure } from '../../components/alert.ts';
import { typed } from '../../components/text.ts';
import { type Html, html } from '../../frame/html.ts';
import { layout, type Parent, type Section } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';

interface BillingPage {
  viewer: Viewer;
  document: BillingDocument;
  /** Path of the PDF. */
  pdf: string;
  section: Section;
  parent: Parent;
  /** Links to the invoices of the payment, and to its receipt of Stripe. */
  links?: readonly { path: string; name: string }[];
  failure?: Failure;
}

const button = ({ path, name }: { path: string; name: string }): Html =>
  html` <a class="button" href="${path}">${name}</a>`;

/** A receipt, an invoice or a credit note. Printed, the page has nothing else. */
export function billingPage({ viewer, document, pdf, section, parent, ...page }: BillingPage): string {
  const { links = [], failure } = page;
  return layout({
    title: document.title,
    menu: { viewer, section },
    parent,
    main: html`${alert(failure ?? null)}
<dl class="facts">
${document.facts.map(
  ({ term, value }) => html`<div><dt>${term}</dt> <dd>${typed(value)}</dd></div>
`,
)}</dl>
${document.notes.map(
  (text) => html`<p>${typed(text)}</p>
`,
)}
<p class="actions">${fitsPdf(document) ? html`<a class="button" href="${pdf}" download>Download as PDF</a>` : html`<span class="quiet">The PDF cannot show all characters of this document. Print this page instead.</span>`}${links.map(button)}</p>`,
  });
}
