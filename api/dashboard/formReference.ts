import { REFERENCE } from './components/form.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The id that the page gave to a form, which makes repeated submissions idempotent; null if it is invalid. */
export function referenceOf(form: URLSearchParams, field = REFERENCE): string | null {
  const reference = form.get(field) ?? '';
  return UUID.test(reference) ? reference : null;
}
