import { isRecord } from '../../schemas/isRecord.ts';
import { readInstant } from './instant.ts';
import { isAmount, type Readings } from './reading.ts';

/**
 * Reads a price in US dollars per troy ounce in the format of gold-api.com's `/price/<symbol>`:
 * `{ "name": "Gold", "price": 4165.200195, "symbol": "XAU", "updatedAt": "2026-07-03T16:08:54Z", … }`.
 * `price` and `updatedAt` are required; `symbol` and `currency` are optional but must match.
 *
 * @throws Error when the response is invalid
 */
export function readMetal(body: unknown, symbol: string, now: Date): Readings {
  if (!isRecord(body)) throw new Error('the response is not an object');
  const { price, updatedAt, symbol: given = symbol, currency = 'USD' } = body;
  if (given !== symbol || currency !== 'USD') throw new Error(`the response is not for ${symbol} in USD`);
  if (!isAmount(price)) throw new Error('the price is not a positive number');
  return new Map([[symbol, { value: String(price), publishedAt: readInstant(updatedAt, now) }]]);
}
