import type { Fault, ServiceError } from '../../../schemas/errors.ts';
import { type Html, html } from '../../html.ts';
import { prose } from './text.ts';

/** Why something was refused, for the page that shows the form again. */
export interface Failure {
  message: string;
  faults: readonly Fault[];
}

/** The fields of a page, each by its name, which is its id too, and what the page calls it. */
export type Labels = Readonly<Record<string, string>>;

const isFault = (value: unknown): value is Fault =>
  typeof value === 'object' && value !== null && 'pointer' in value && 'message' in value;

const FAULTY = 'Please look at this again:';

/** An error of the table in the words of a form. */
export function failureOf({ code, detail, members }: ServiceError): Failure {
  const faults = Array.isArray(members.errors) ? members.errors.filter(isFault) : [];
  return { message: code === 'invalid_input' && faults.length > 0 ? FAULTY : detail, faults };
}

/** The field a fault is about: `/tools/0` is about `tools`. */
const fieldOf = ({ pointer }: Fault): string => pointer.split('/')[1] ?? '';

/** What is wrong with a field, or null. */
export const faultOf = (failure: Failure | null, field: string): string | null =>
  failure?.faults.find((fault) => fieldOf(fault) === field)?.message ?? null;

function faultItem(fault: Fault, labels: Labels): Html {
  const field = fieldOf(fault);
  const label = Object.hasOwn(labels, field) ? labels[field] : undefined;
  // What the page has no field for, such as a part of its address, cannot be led to.
  const place = label === undefined ? field : html`<a href="#${field}">${label}</a>`;
  return html`<li>${place} ${prose(fault.message)}</li>`;
}

/** Why something was refused, with each fault; those of fields of the page lead there. */
export const reasons = ({ message, faults }: Failure, labels: Labels = {}): Html =>
  html`<p>${message}</p>${
    faults.length === 0 ? null : html`<ul>${faults.map((fault) => faultItem(fault, labels))}</ul>`
  }`;

/** Said first on the page, and read out at once. */
export const alert = (failure: Failure | null, labels: Labels = {}): Html | null =>
  failure === null
    ? null
    : html`<div class="alert" role="alert">
${reasons(failure, labels)}
</div>`;

/** Something went well. */
export const notice = (content: Html): Html => html`<div class="notice" role="status">${content}</div>`;

/** Where a list has nothing to show: what to do next. */
export const empty = (content: Html): Html => html`<div class="empty">${content}</div>`;
