/** Formats an amount in hundredths of a currency: 900 USD as $9.00. */
export const price = (amount: number, currency: string): string =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).format(amount / 100);
