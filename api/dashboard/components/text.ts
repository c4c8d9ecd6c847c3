import type { EntryRow } from '../../../schemas/accountRows.ts';
import { type Html, html } from '../frame/html.ts';

const NUMBER = new Intl.NumberFormat('en');

/** 1234567 as 1,234,567. */
export const number = (value: number): string => NUMBER.format(value);

/** An amount with its sign, such as `+25`; a negative one has a minus sign instead of a hyphen. */
export const signed = (amount: number): string =>
  amount === 0 ? '0' : `${amount > 0 ? '+' : '−'}${number(Math.abs(amount))}`;

/** `1 call`, `2 calls`. */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : many}`;

/** `The newest call`, `The newest 2 calls`. */
export const newest = (value: number, one: string, many = `${one}s`): string =>
  value === 1 ? `The newest ${one}` : `The newest ${count(value, one, many)}`;

/** User-supplied text: may be long without spaces, and is isolated so that its direction does not affect the page. */
export const typed = (text: string): Html => html`<bdi>${text}</bdi>`;

/** A time in UTC; `times.js` shows it in the viewer's time zone. */
export const moment = (iso: string | null, none = 'never'): Html =>
  iso === null
    ? html`<span class="quiet">${none}</span>`
    : html`<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC</time>`;

export const preciseMoment = (iso: string): Html =>
  html`<time datetime="${iso}" data-seconds>${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;

/** Keeps numbers together with their units and percent signs, which would otherwise begin a line. */
export const withUnits = (text: string): string =>
  text.replaceAll(/(?<=\d) (?=(?:%|[KMG]i?B|ms|s|min|h|px)(?![\p{L}\p{N}]))/gu, '\u00a0');

/** Formats a duration in milliseconds as readable text. */
export const duration = (ms: number): string =>
  withUnits(ms < 1000 ? `${number(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`);

/** Text in which \`backticks\` mark code. */
export const prose = (text: string): Html =>
  html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${withUnits(part)}`))}`;

/** Sentences in a paragraph of a description. */
const SENTENCES = 3;

export function paragraphs(description: string): string[] {
  const sentences = description.split(/(?<=\.) (?=[A-Z`])/);
  return Array.from({ length: Math.ceil(sentences.length / SENTENCES) }, (_, index) =>
    sentences.slice(index * SENTENCES, (index + 1) * SENTENCES).join(' '),
  );
}

/** An id or another short text to copy (`copy.js`). */
export const copyable = (text: string): Html => html`<code data-copy>${text}</code>`;

/** Formats a share in percent. */
export const percent = (value: number | null): string => (value === null ? '–' : withUnits(`${value} %`));

/** The type of a ledger entry in words. */
export const entryType = (type: EntryRow['type']): string => (type === 'signup' ? 'sign-up' : type);

/** A labelled badge; its colour carries no information of its own. */
export const badge = (word: string, tone: 'good' | 'bad' | 'plain' = 'plain'): Html =>
  html`<span class="badge ${tone}">${word}</span>`;
