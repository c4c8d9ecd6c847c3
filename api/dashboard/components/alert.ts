import type { Fault, ServiceError } from '../../../schemas/errors.ts';
import { type Html, html } from '../../html.ts';

/** Why something was refused, for the page that shows the form again. */
export interface Failure {
  message: string;
  faults: readonly Fault[];
}

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

/** Said first on the page, and read out at once. */
export function alert(failure: Failure | null): Html | null {
  if (failure === null) return null;
  const faults = failure.faults.map(
    (fault) => html`<li><a href="#${fieldOf(fault)}">${fieldOf(fault)}</a> ${fault.message}</li>`,
  );
  return html`<div class="alert" role="alert">
<p>${failure.message}</p>${faults.length === 0 ? null : html`<ul>${faults}</ul>`}
</div>`;
}

/** Something went well. */
export const notice = (content: Html): Html => html`<div class="notice" role="status">${content}</div>`;

/** Where a list has nothing to show: what to do next. */
export const empty = (content: Html): Html => html`<div class="empty">${content}</div>`;
