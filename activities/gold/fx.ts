import { Big } from 'big.js';
import { isRecord } from '../../schemas/isRecord.ts';
import { CURRENCIES } from '../../schemas/tools/gold-price.ts';
import { readInstant } from './instant.ts';
import { isAmount, type Reading, type Readings } from './reading.ts';

/** Divides with more digits than any rate has. */
const Rate = Big();
Rate.DP = 20;

/** How a feed names one currency's rate: units of it for one of `base`. */
interface Row {
  base: unknown;
  quote: unknown;
  rate: unknown;
  at: unknown;
}

/** Frankfurter v2: `[{ "date": "2026-07-03", "base": "USD", "quote": "EUR", "rate": 0.85 }, …]`. */
const readList = (list: readonly unknown[]): Row[] =>
  list.filter(isRecord).map(({ base, quote, rate, date }) => ({ base, quote, rate, at: date }));

/**
 * `{ "base": "USD", "date": …, "rates": { "EUR": 0.85, … } }`, as Frankfurter v1 and others have it, with the names of
 * open.er-api.com (`base_code`, `time_last_update_unix`) and openexchangerates.org (`timestamp`) as well.
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
    return null; // one currency's fault is not that of the others
  }
}

const older = (a: Date, b: Date): Date => (a < b ? a : b);

/**
 * Reads exchange rates as units of a currency for one US dollar, of the currencies that we have. Rates for another base
 * are divided by that of the dollar, which then has to be among them.
 *
 * @throws Error when there is not one rate
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
  if (dollar === undefined && base !== 'USD') throw new Error('the rates cannot be brought to USD');
  if (base === 'USD' && dollar !== undefined && dollar.value !== '1')
    throw new Error('the rates contradict their base');
  // A feed need not say that one of its base is one of its base.
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
  if (perDollar.size === 0) throw new Error('there is no rate');
  return perDollar;
}
