/** Clocks differ; what is further ahead than this is wrong. */
const SKEW_MS = 5 * 60_000;
/** A day is named where it begins first, up to 14 hours before UTC, and some banks publish rates for the next one. */
const DAY_MS = 86_400_000;
/** Unix time in seconds stays below this until the year 5138, in milliseconds it has been above since 1973. */
const SECONDS_BELOW = 100_000_000_000;

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})$/;

function parse(value: unknown): number {
  if (typeof value === 'number') return value < SECONDS_BELOW ? value * 1000 : value;
  if (typeof value === 'string' && (DAY.test(value) || INSTANT.test(value))) return Date.parse(value);
  return Number.NaN;
}

/**
 * Reads when a quote was published. A clock that is a little fast gives `now`: no quote is from the future.
 *
 * @param value ISO 8601 with its offset, a day alone (UTC), or Unix time in seconds or milliseconds
 * @throws Error when it is none of these, or too far in the future
 */
export function readInstant(value: unknown, now: Date): Date {
  const time = parse(value);
  if (!Number.isFinite(time) || time <= 0) throw new Error('the time of the quote cannot be read');
  const ahead = time - now.getTime();
  if (ahead > (typeof value === 'string' && DAY.test(value) ? DAY_MS : SKEW_MS))
    throw new Error('the quote is from the future');
  return new Date(Math.min(time, now.getTime()));
}
