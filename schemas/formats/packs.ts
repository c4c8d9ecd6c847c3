export interface Pack {
  credits: number;
  /** Price in hundredths of the currency unit. */
  amount: number;
  /** ISO 4217 code in upper case. */
  currency: string;
}

/** Stripe's maximum amount of one payment in hundredths of the currency unit: 999,999.99. */
const MAX_AMOUNT = 99_999_999;
const MAX_PACK_CREDITS = 1_000_000_000;

/** Whether a currency has two decimals. Stripe counts amounts in other currencies in other units. */
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
    throw new Error(`must be credits:price such as 1000:9.00 USD, not ${text}`);
  if (!hasCents(pack.currency))
    throw new Error(`must have a currency with two decimals, not ${pack.currency}`);
  return pack;
}

/**
 * Parses credit packs such as `1000:9.00 USD`; `off` means none. @throws for an invalid pack, or two packs with the
 * same number of credits
 */
export function parsePacks(texts: readonly string[]): Pack[] {
  if (texts.length === 1 && texts[0] === 'off') return [];
  const packs = texts.map(parsePack);
  if (packs.length === 0) throw new Error('must have at least one pack such as 1000:9.00 USD, or be off');
  if (new Set(packs.map(({ credits }) => credits)).size !== packs.length)
    throw new Error('must not repeat an amount of credits');
  return packs;
}
