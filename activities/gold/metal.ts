import { isRecord } from '../../schemas/isRecord.ts';
import { readInstant } from './instant.ts';
import { isAmount, type Readings } from './reading.ts';

/**
 * Reads a price in US dollars for a troy ounce, as gold-api.com answers `/price/<symbol>`:
 * `{ "name": "Gold", "price": 4165.200195, "symbol": "XAU", "updatedAt": "2026-07-03T16:08:54Z", … }`.
 * `price` and `updatedAt` have to be there; `symbol` and `currency` may be, and then have to fit.
 *
 * @throws Error when it is not that
 */
export function readMetal(body: unknown, symbol: string, now: Date): Readings {
  if (!isRecord(body)) throw new Error('the answer is no object');
  const { price, updatedAt, symbol: given = symbol, currency = 'USD' } = body;
  if (given !== symbol || currency !== 'USD') throw new Error(`the answer is not for ${symbol} in USD`);
  if (!isAmount(price)) throw new Error('the price is no positive number');
  return new Map([[symbol, { value: String(price), publishedAt: readInstant(updatedAt, now) }]]);
}
