import type { Pack } from '../../schemas/formats/packs.ts';

/** Formats the price of a pack, such as `$9.00`. */
export const priceOf = ({ amount, currency }: Pack): string =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).format(amount / 100);

/** Formats the price of one credit in a pack, such as `$0.009`. */
export const pricePerCredit = ({ amount, currency, credits }: Pack): string =>
  new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    maximumSignificantDigits: 3,
  }).format(amount / 100 / credits);
