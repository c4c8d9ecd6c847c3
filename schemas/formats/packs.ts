/** Credits that are sold together. */
export interface Pack {
  credits: number;
  /** Price in hundredths of the currency. */
  amount: number;
  /** ISO 4217, in capitals. */
  currency: string;
}

/** What Stripe takes at most in one payment: 999,999.99. */
const MAX_AMOUNT = 99_999_999;
const MAX_PACK_CREDITS = 1_000_000_000;

/** Stripe counts these in hundredths. Those without decimals, or with three, have rules of their own there. */
const hasCents = (currency: string): boolean =>
  Intl.supportedValuesOf('currency').includes(currency) &&
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits === 2;

function parsePack(text: string): Pack {
  const [, credits, units, cents, currency = ''] =
    /^(\d{1,10}):(\d{1,6})\.(\d\d) ?([A-Za-z]{3})$/.exec(text) ?? [];
  const pack = {
    credits: Number(credits),
    amount: Number(units) * 100 + Number(cents),
    currency: currency.toUpperCase(),
  };
  if (
    !(pack.credits >= 1 && pack.credits <= MAX_PACK_CREDITS && pack.amount >= 1 && pack.amount <= MAX_AMOUNT)
  )
    throw new Error(`want credits:price like 1000:9.00 USD, not ${text}`);
  if (!hasCents(pack.currency)) throw new Error(`want a currency with two decimals, not ${pack.currency}`);
  return pack;
}

/** `1000:9.00 USD,…`, or `off`, which sells nothing. @throws when it is neither, or names an amount of credits twice */
export function parsePacks(texts: readonly string[]): Pack[] {
  if (texts.length === 1 && texts[0] === 'off') return [];
  const packs = texts.map(parsePack);
  if (packs.length === 0) throw new Error('want at least one pack like 1000:9.00 USD, or off');
  if (new Set(packs.map(({ credits }) => credits)).size !== packs.length)
    throw new Error('want each amount of credits once');
  return packs;
}
