/** Formats an amount in hundredths of a currency: 900 USD as $9.00. */
export const price = (amount: number, currency: string): string =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).format(amount / 100);

/** Like `price`, with the code of the currency: USD 9.00. */
export const priceWithCode = (amount: number, currency: string): string =>
  `${currency} ${new Intl.NumberFormat('en', { minimumFractionDigits: 2 }).format(amount / 100)}`;

/** Digits of the price of one credit, which is usually far below one hundredth of the currency unit. */
const UNIT_DIGITS = { maximumSignificantDigits: 3 };

/** Formats the price of one credit: 900 USD for 1,000 credits as $0.009. */
export function unitPrice(amount: number, credits: number, currency: string): string {
  const value = amount / 100 / credits;
  return new Intl.NumberFormat('en', { style: 'currency', currency, ...(value < 1 && UNIT_DIGITS) }).format(
    value,
  );
}
