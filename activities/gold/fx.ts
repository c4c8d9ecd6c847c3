import { Big } from 'big.js';
import { isRecord } from '../../schemas/isRecord.ts';
import { CURRENCIES } from '../../schemas/tools/gold-price.ts';
import { readInstant } from './instant.ts';
import { isAmount, type Reading, type Readings } from './reading.ts';

/** Decimal arithmetic whose divisions have more digits than the rates of the feeds. */
const Rate = Big();
Rate.DP = 20;

/** The unchecked exchange rate of one currency: units of `quote` per unit of `base`, published at `at`. */
interface Row {
  base: unknown;
  quote: unknown;
  rate: unknown;
  at: unknown;
}

/** Reads the format of Frankfurter v2: `[{ "date": "2026-07-03", "base": "USD", "quote": "EUR", "rate": 0.85 }, …]`. */
const readList = (list: readonly unknown[]): Row[] =>
  list.filter(isRecord).map(({ base, quote, rate, date }) => ({ base, quote, rate, at: date }));

/**
 * Reads `{ "base": "USD", "date": …, "rates": { "EUR": 0.85, … } }`, the format of Frankfurter v1 and others. Also accepts
 * the field names of open.er-api.com (`base_code`, `time_last_update_unix`) and openexchangerates.org (`timestamp`).
 */
function readObject(body: Record<string, unknown>): Row[] {
  const base = body.base ?? body.base_code;
  const rates = body.rates ?? body.conversion_rates;
  const at = body.updatedAt ?? body.time_last_update_unix ?? body.timestamp ?? body.date;
  return isRecord(rates) ? Object.entries(rates).map(([quote, rate]) => ({ base, quote, rate, at })) : [];
}

function readRow({ rate, at }: Row, now: Date): Reading | null {
  if (!isAmount(rate)) return null;
  try {
    return { value: String(rate), publishedAt: readInstant(at, now) };
  } catch {
    return null; // An invalid row must not affect other currencies.
  }
}

const older = (a: Date, b: Date): Date => (a < b ? a : b);

/**
 * Reads the exchange rates of the supported currencies, as units per US dollar. If the feed has another base currency, its
 * rates are divided by its rate of the US dollar, which must then be present.
 *
 * @throws Error when the feed has no valid rates
 */
export function readRates(body: unknown, now: Date): Readings {
  const rows = Array.isArray(body) ? readList(body) : isRecord(body) ? readObject(body) : [];
  const base = rows[0]?.base;
  const readings = new Map<string, Reading>();
  for (const row of rows) {
    const reading = row.base === base ? readRow(row, now) : null;
    if (reading === null || typeof row.quote !== 'string') continue;
    const known = readings.get(row.quote);
    if (known === undefined || known.publishedAt < reading.publishedAt) readings.set(row.quote, reading);
  }
  const dollar = readings.get('USD');
  if (dollar === undefined && base !== 'USD') throw new Error('the rates cannot be converted to USD');
  if (base === 'USD' && dollar !== undefined && dollar.value !== '1')
    throw new Error('the rates contradict their base');
  // Feeds may omit the rate of their own base currency, which is 1.
  const own = CURRENCIES.find((currency) => currency === base);
  if (own !== undefined && dollar !== undefined && !readings.has(own))
    readings.set(own, { value: '1', publishedAt: dollar.publishedAt });

  const perDollar = new Map<string, Reading>();
  for (const currency of CURRENCIES) {
    const reading = readings.get(currency);
    if (reading === undefined || currency === 'USD') continue;
    perDollar.set(
      currency,
      base === 'USD' || dollar === undefined
        ? reading
        : {
            value: new Rate(reading.value).div(dollar.value).toFixed(),
            publishedAt: older(reading.publishedAt, dollar.publishedAt),
          },
    );
  }
  if (perDollar.size === 0) throw new Error('the feed has no valid rates');
  return perDollar;
}
