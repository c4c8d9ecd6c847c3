import { ERRORS, type ErrorCode, type Fault, type ServiceError } from '../../../schemas/errors.ts';
import { isRecord } from '../../../schemas/isRecord.ts';
import { type Html, html } from '../frame/html.ts';
import { prose } from './text.ts';

/** A refusal, for the page that shows the form again. */
export interface Failure {
  message: string;
  faults: readonly Fault[];
  /** Number of further faults, which `faults` does not list. */
  more?: number;
  /** The error code; absent for forms that do not call an operation of the API. */
  code?: ErrorCode;
}

/** Labels of a page's fields by field name, which is also the element's id. */
export type Labels = Readonly<Record<string, string>>;

const isFault = (value: unknown): value is Fault =>
  isRecord(value) && 'pointer' in value && 'message' in value;

const FAULTS_HEADING = 'Please fix the following:';

/** Converts an error of the error table for display in a form. */
export function failureOf({ code, detail, members }: ServiceError): Failure {
  const all = Array.isArray(members.errors) ? members.errors.filter(isFault) : [];
  // A form states null by an empty field.
  const faults = all.map((fault) => ({ ...fault, message: fault.message.replace(/ or null$/, ' or empty') }));
  return {
    message: code === 'invalid_input' && faults.length > 0 ? FAULTS_HEADING : detail,
    faults,
    more: members.moreErrors ?? 0,
    code,
  };
}

/** The field that a fault belongs to: `/tools/0` belongs to `tools`. */
const fieldOf = ({ pointer }: Fault): string => pointer.split('/')[1] ?? '';

export const faultOf = (failure: Failure | null, field: string): string | null =>
  failure?.faults.find((fault) => fieldOf(fault) === field)?.message ?? null;

function faultItem(fault: Fault, labels: Labels): Html {
  const field = fieldOf(fault);
  const label = Object.hasOwn(labels, field) ? labels[field] : undefined;
  // A fault is not linked if the page has no field for it, as for a path parameter.
  const place = label === undefined ? field : html`<a href="#${field}">${label}</a>`;
  return html`<li>${place} ${prose(fault.message)}</li>`;
}

/** The reason of a refusal with its faults; faults of fields link to them. */
export const reasons = ({ message, faults }: Failure, labels: Labels = {}): Html =>
  html`<p>${message}</p>${
    faults.length === 0 ? null : html`<ul>${faults.map((fault) => faultItem(fault, labels))}</ul>`
  }`;

/** An alert at the top of the page, announced by screen readers. */
export const alert = (failure: Failure | null, labels: Labels = {}): Html | null =>
  failure === null
    ? null
    : html`<div class="alert" role="alert">
${reasons(failure, labels)}
</div>`;

/** The refusal of a call: code, reason, remedy and request id. A refused or failed call is never charged. */
export const callFailure = (failure: Failure, labels: Labels, remedy: Html | null, requestId: string): Html =>
  html`<div class="alert" role="alert">
<h2>${failure.code === undefined ? 'The call failed' : ERRORS[failure.code].title}</h2>
${reasons(failure, labels)}
${remedy}
<p><strong>Nothing was charged.</strong></p>
<p class="request">${
    failure.code === undefined
      ? null
      : html`Error <a href="/docs/errors#${failure.code}"><code>${failure.code}</code></a>, `
  }request <code data-copy>${requestId}</code></p>
</div>`;

/** A success message. */
export const notice = (content: Html): Html => html`<div class="notice" role="status">${content}</div>`;

/** Placeholder of an empty list: what to do next. */
export const empty = (content: Html): Html => html`<div class="empty">${content}</div>`;
