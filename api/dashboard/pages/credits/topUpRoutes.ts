import { type Fault, invalidInput, ServiceError } from '../../../../schemas/errors.ts';
import type { Agreement } from '../../../../store/billing/topUpRuns.ts';
import { MAX_CREDITS } from '../../../billing/adjustment.ts';
import { limitPayments } from '../../../billing/limitPayments.ts';
import type { CardRequest } from '../../../billing/stripeService.ts';
import type { Failure } from '../../components/alert.ts';
import type { Dashboard } from '../../frame/dashboard.ts';
import { referenceOf } from '../../frame/formValues.ts';
import { attempt, goTo, type Submission, type Visit } from '../../frame/pageRouter.ts';
import { CREDITS_PATH, type Selling } from './paths.ts';
import { TOP_UP_PATH, type TopUpEntered } from './topUpView.ts';
import type { Outcome } from './view.ts';

interface Page {
  selling: NonNullable<Selling>;
  /** Renders the page with a refused form. */
  refused(visit: Visit, form: { failure: Failure; entered: TopUpEntered }): Promise<string>;
  /** URL of the page with an outcome, to which Stripe returns. */
  back(visit: Visit, outcome: Outcome): string;
}

const enteredIn = (form: URLSearchParams): TopUpEntered => ({
  below: (form.get('below') ?? '').trim(),
  topUpPack: form.get('topUpPack') ?? '',
  monthlyLimit: (form.get('monthlyLimit') ?? '').trim(),
});

/** Parses an amount such as 50 or 12.50 to hundredths; null if it is none. */
function hundredths(text: string): number | null {
  const [, units, cents = ''] = /^(\d{1,6})(?:\.(\d{1,2}))?$/.exec(text) ?? [];
  return units === undefined ? null : Number(units) * 100 + Number(cents.padEnd(2, '0'));
}

/** @throws ServiceError invalid_input */
function parseAgreement(
  { below, topUpPack, monthlyLimit }: TopUpEntered,
  reference: string | null,
  { packs }: NonNullable<Selling>,
): Agreement {
  const faults: Fault[] = [];
  const credits = /^\d{1,10}$/.test(below) ? Number(below) : 0;
  if (credits < 1 || credits > MAX_CREDITS)
    faults.push({ pointer: '/below', message: `must be a whole number from 1 to ${MAX_CREDITS}` });
  const pack = packs.find((it) => String(it.credits) === topUpPack);
  if (pack === undefined || reference === null)
    faults.push({ pointer: '/topUpPack', message: 'must be selected on this page' });
  const limit = hundredths(monthlyLimit);
  if (limit === null) faults.push({ pointer: '/monthlyLimit', message: 'must be an amount such as 50' });
  else if (pack !== undefined && limit < pack.amount)
    faults.push({ pointer: '/monthlyLimit', message: 'must be at least the price of the pack' });
  if (faults.length > 0 || pack === undefined || reference === null || limit === null)
    throw invalidInput(faults);
  return { reference, below: credits, pack, monthlyLimit: limit };
}

/** Registers the forms of automatic top-ups. */
export function topUpRoutes({ pages, core, topUpRuns, stripe }: Dashboard, page: Page): void {
  const onCredits = { page: () => CREDITS_PATH };
  const { limits } = core;
  const { selling } = page;

  /** Stores what the owner agrees to. Returns where to go next: to Stripe, if a card is to be entered. */
  async function save(visit: Submission, entered: TopUpEntered): Promise<string> {
    const { viewer, form } = visit;
    const { _id: accountId, email } = viewer.account;
    const agreement = parseAgreement(entered, referenceOf(form), selling);
    const known = await topUpRuns.settings(accountId);
    const asksForCard =
      selling.by === 'stripe' && (form.get('card') === 'new' || (known?.card ?? null) === null);
    if (asksForCard) await limitPayments(limits, accountId);
    await topUpRuns.agree(accountId, agreement, selling.by === 'stripe');
    if (!asksForCard) return `${CREDITS_PATH}?done=top-up`;
    if (stripe === null) throw new ServiceError('not_found');
    const request: CardRequest = {
      accountId,
      email,
      reference: agreement.reference,
      currency: agreement.pack.currency,
      customerId: known?.card?.customerId ?? null,
      savedUrl: page.back(visit, 'card'),
      cancelledUrl: page.back(visit, 'no-card'),
    };
    return stripe.startCardSetup(request);
  }

  const submit = async (visit: Submission) => {
    const entered = enteredIn(visit.form);
    await attempt(
      visit.ctx,
      async () => goTo(visit.ctx, await save(visit, entered)),
      (failure) => page.refused(visit, { failure, entered }),
    );
  };
  pages.post(TOP_UP_PATH, submit, onCredits);

  const switchOff = async ({ ctx, viewer }: Submission) => {
    await topUpRuns.switchOff(viewer.account._id);
    goTo(ctx, `${CREDITS_PATH}?done=no-top-up`);
  };
  pages.post(`${TOP_UP_PATH}/off`, switchOff, onCredits);
}
