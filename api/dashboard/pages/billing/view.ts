import type { BillingDetails } from '../../../../store/accounts/accountDocs.ts';
import { alert, type Failure } from '../../components/alert.ts';
import { inputField } from '../../components/field.ts';
import { postForm } from '../../components/form.ts';
import { html } from '../../frame/html.ts';
import { layout } from '../../frame/layout.ts';
import type { Viewer } from '../../frame/viewer.ts';
import { BILLING_PATH, CREDITS_PATH } from '../credits/paths.ts';

/** Maximum length of a field in UTF-16 code units. */
export const FIELD_LENGTH = 200;

const LABELS = {
  name: 'Name or company',
  address: 'Address',
  country: 'Country',
  vatId: 'VAT id',
};

interface BillingPage {
  viewer: Viewer;
  /** Values of the fields. */
  entered: Partial<BillingDetails>;
  failure?: Failure;
}

/** The form of the details that invoices copy. */
export function billingPage({ viewer, entered, failure }: BillingPage): string {
  const shared = { failure: failure ?? null };
  const required = { required: '', maxlength: FIELD_LENGTH };
  return layout({
    title: 'Billing details',
    menu: { viewer, section: 'Credits' },
    parent: { path: CREDITS_PATH, name: 'Credits' },
    main: html`${alert(failure ?? null, LABELS)}
<p>Invoices copy these details when they are issued. A change applies to later invoices only.</p>
${postForm({
  action: BILLING_PATH,
  viewer,
  content: html`${inputField({
    ...shared,
    name: 'name',
    label: LABELS.name,
    value: entered.name ?? '',
    attributes: { ...required, autocomplete: 'organization' },
  })}
${inputField({
  ...shared,
  name: 'address',
  label: LABELS.address,
  value: entered.address ?? '',
  hint: 'Street, postal code and city in one line.',
  attributes: { ...required, autocomplete: 'off' },
})}
${inputField({
  ...shared,
  name: 'country',
  label: LABELS.country,
  value: entered.country ?? '',
  hint: 'Code of two letters, such as DE.',
  attributes: { required: '', maxlength: 2, autocomplete: 'country' },
})}
${inputField({
  ...shared,
  name: 'vatId',
  label: LABELS.vatId,
  value: entered.vatId ?? '',
  hint: 'Empty if you have none. It is printed as you enter it, and not looked up.',
  attributes: { maxlength: 30, autocomplete: 'off' },
})}
<button>Save</button>`,
})}`,
  });
}
