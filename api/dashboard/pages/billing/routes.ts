import { type Fault, invalidInput } from '../../../../schemas/errors.ts';
import { parseVatId } from '../../../../schemas/formats/vatId.ts';
import type { BillingDetails } from '../../../../store/accounts/accountDocs.ts';
import { countryName } from '../../../billing/invoice.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { attempt, goTo, type Submission, sendPage } from '../../frame/pageRouter.ts';
import { BILLING_PATH, CREDITS_PATH } from '../credits/paths.ts';
import { billingPage, FIELD_LENGTH } from './view.ts';

const enteredIn = (form: URLSearchParams) => ({
  name: (form.get('name') ?? '').trim(),
  address: (form.get('address') ?? '').trim(),
  country: (form.get('country') ?? '').trim().toUpperCase(),
  vatId: (form.get('vatId') ?? '').trim(),
});

/** @throws ServiceError invalid_input */
function parseDetails(entered: ReturnType<typeof enteredIn>): BillingDetails {
  const faults: Fault[] = [];
  for (const field of ['name', 'address'] as const) {
    const text = entered[field];
    if (text === '' || text.length > FIELD_LENGTH || /\p{Cc}/u.test(text))
      faults.push({ pointer: `/${field}`, message: `must be one line of 1 to ${FIELD_LENGTH} characters` });
  }
  if (countryName(entered.country) === null)
    faults.push({ pointer: '/country', message: 'must be the code of a country, such as DE' });
  const vatId = entered.vatId === '' ? null : parseVatId(entered.vatId);
  if (entered.vatId !== '' && vatId === null)
    faults.push({ pointer: '/vatId', message: 'must begin with a country code, such as DE123456789' });
  if (faults.length > 0) throw invalidInput(faults);
  return { ...entered, vatId };
}

/** Registers the page of the billing details, if the installation issues invoices. */
export function billingRoutes({ pages, core: { accounts }, issuesInvoices }: Dashboard): void {
  if (!issuesInvoices) return;

  pages.get(BILLING_PATH, async ({ ctx, viewer }) =>
    sendPage(ctx, billingPage({ viewer, entered: viewer.account.billing ?? {} })),
  );

  pages.post(BILLING_PATH, async ({ ctx, viewer, form }: Submission) => {
    const entered = enteredIn(form);
    const save = async () => {
      await accounts.setBilling(viewer.account._id, parseDetails(entered));
      goTo(ctx, `${CREDITS_PATH}?done=billing`);
    };
    await attempt(ctx, save, (failure) => billingPage({ viewer, entered, failure }));
  });
}
