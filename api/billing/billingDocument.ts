/** A receipt, an invoice or a credit note: the same content on the page and in the PDF. */
export interface BillingDocument {
  /** Id of the payment, or number of the invoice. */
  id: string;
  title: string;
  at: Date;
  facts: readonly { term: string; value: string }[];
  /** Paragraphs below the facts. */
  notes: readonly string[];
}

/** Characters that the standard fonts of PDF have: those of Windows-1252. */
const IN_FONTS =
  /^[\n\x20-\x7e\u00a0-\u00ff\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178]*$/;

/** Whether the PDF can show all characters of a document. If not, the page can be printed instead. */
export const fitsPdf = ({ facts, notes }: BillingDocument): boolean =>
  [...facts.map(({ value }) => value), ...notes].every((text) => IN_FONTS.test(text));

/** The day of a time, as it is written in documents. */
export const dayOf = (at: Date): string => `${at.toISOString().slice(0, 10)} (UTC)`;
