import { REFERENCE } from '../components/form.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The id that the page gave to a form, which makes repeated submissions idempotent; null if it is invalid. */
export function referenceOf(form: URLSearchParams, field = REFERENCE): string | null {
  const reference = form.get(field) ?? '';
  return UUID.test(reference) ? reference : null;
}

/** A valid floating-point number of the HTML Standard (2.3.4.3), the format of number fields. */
const VALID = /^-?(\d+|\d*\.\d+)(e[+-]?\d+)?$/i;

/** The value of a number field; NaN when it is invalid or not finite. */
export function fieldNumber(text: string): number {
  const number = VALID.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : Number.NaN;
}
