import { Big } from 'big.js';

/** Prices of metal of one purity in one currency. */
interface Prices {
  pricePerGram: number;
  pricePerTola: number;
  pricePerOunce: number;
}

/** Grams per troy ounce, an exact value: 480 grains of 64.79891 mg. */
const GRAMS_PER_OUNCE = '31.1034768';
const GRAMS_PER_TOLA = '11.6638';
const FINE = 24;
export const KARATS = [24, 22, 21, 20, 18, 16, 14, 10] as const;

/** Exact decimal arithmetic, except that divisions round half up to six decimals. */
const Money = Big();
Money.DP = 6;
Money.RM = Big.roundHalfUp;

/**
 * Converts a price to another currency and purity.
 *
 * @param ounce price of a troy ounce of fine metal
 * @param rate units of the target currency per unit of the price's currency
 * @param karat parts of fine metal in 24 parts of the alloy
 */
export function pricesOf(ounce: string, rate: string, karat: number = FINE): Prices {
  const price = new Money(ounce).times(rate).times(karat);
  return {
    pricePerGram: price.div(new Money(FINE).times(GRAMS_PER_OUNCE)).toNumber(),
    pricePerTola: price.times(GRAMS_PER_TOLA).div(new Money(FINE).times(GRAMS_PER_OUNCE)).toNumber(),
    pricePerOunce: price.div(FINE).toNumber(),
  };
}

/** Returns the share of fine metal in an alloy of this karat, from 0 to 1, rounded to six decimals. */
export const purityOf = (karat: number): number => new Money(karat).div(FINE).toNumber();
