import { REFERENCE } from './components/form.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What a page named a form by, so that one that is sent twice acts once; null where it is none of our names. */
export function referenceOf(form: URLSearchParams, field = REFERENCE): string | null {
  const reference = form.get(field) ?? '';
  return UUID.test(reference) ? reference : null;
}
