import type { ToolInput, ToolOutput } from '../../schemas/tool.ts';
import type definition from '../../schemas/tools/gold-price.ts';
import { KARATS, pricesOf, purityOf } from '../gold/convert.ts';
import type { NetworkContext } from '../runtime/context.ts';

/** The exchange rate of USD to USD, which needs no feed. */
const DOLLAR = { value: '1', publishedAt: null, stale: false };

/** Computes the price of a metal in a currency from the last accepted quotes. */
export async function run(
  { metal, currency }: ToolInput<typeof definition>,
  { quotes, signal }: Pick<NetworkContext, 'quotes' | 'signal'>,
): Promise<ToolOutput<typeof definition>> {
  const symbol = metal === 'gold' ? 'XAU' : 'XAG';
  const [ounce, rate] = await Promise.all([
    quotes.latest(symbol, symbol, signal),
    currency === 'USD' ? DOLLAR : quotes.latest('FX', currency, signal),
  ]);
  const published = [ounce.publishedAt, rate.publishedAt ?? ounce.publishedAt];
  return {
    metal,
    currency,
    ...pricesOf(ounce.value, rate.value),
    karats:
      metal === 'gold'
        ? KARATS.map((karat) => ({
            karat,
            purity: purityOf(karat),
            ...pricesOf(ounce.value, rate.value, karat),
          }))
        : [],
    asOfUtc: new Date(Math.min(...published.map(Number))).toISOString(),
    stale: ounce.stale || rate.stale,
  };
}
