import type { TopUpFailure } from '../../store/billing/topUpRunDocs.ts';

/** Why a top-up was not made, as a sentence for the owner. */
const FAILURES: Readonly<Record<TopUpFailure, string>> = {
  declined: 'The bank declined the payment.',
  authentication: 'The bank asks you to confirm the payment, which needs you to buy the credits yourself.',
  refused: 'Stripe refused the payment, for example because the card is no longer saved there.',
  unreachable: 'Stripe could not be reached for a day.',
  limit: 'It would have exceeded your ceiling for this month.',
  pack: 'The pack is no longer on sale at the price to which you agreed.',
  card: 'No card is saved.',
};

export const topUpFailure = (reason: TopUpFailure): string => FAILURES[reason];
