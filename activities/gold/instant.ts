/** How far a publication time may be in the future, in milliseconds: a tolerance for clock skew. */
const SKEW_MS = 5 * 60_000;
/**
 * How far a publication date without a time may be in the future, in milliseconds: time zones are up to 14 hours ahead of
 * UTC, and some banks publish rates for the next day.
 */
const DAY_MS = 86_400_000;
/** Smaller numbers are Unix times in seconds (until the year 5138), others are in milliseconds (since 1973). */
const SECONDS_BELOW = 100_000_000_000;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})$/;

function parse(value: unknown): number {
  if (typeof value === 'number') return value < SECONDS_BELOW ? value * 1000 : value;
  if (typeof value === 'string' && (DAY.test(value) || INSTANT.test(value))) return Date.parse(value);
  return Number.NaN;
}

/**
 * Reads the publication time of a quote. A time slightly in the future becomes `now`.
 *
 * @param value ISO 8601 with an offset, a date (UTC), or Unix time in seconds or milliseconds
 * @throws Error when the value has another format or is too far in the future
 */
export function readInstant(value: unknown, now: Date): Date {
  const time = parse(value);
  if (!Number.isFinite(time) || time <= 0) throw new Error('the time of the quote cannot be read');
  const ahead = time - now.getTime();
  if (ahead > (typeof value === 'string' && DAY.test(value) ? DAY_MS : SKEW_MS))
    throw new Error('the quote is from the future');
  return new Date(Math.min(time, now.getTime()));
}
