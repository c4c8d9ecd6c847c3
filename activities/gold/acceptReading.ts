import { Big } from 'big.js';
import type { StoredQuote } from '../../store/quotes/quoteDocs.ts';
import type { Reading } from './reading.ts';

/** Relative change from the last accepted quote above which a reading needs confirmation. */
const MAX_MOVE = '0.2';
/** A large change is confirmed by this many consecutive refreshes that agree, over at least `CONFIRMATION_MS`. */
const CONFIRMATIONS = 3;
const CONFIRMATION_MS = 10 * 60_000;

const isNear = (value: string, to: string): boolean =>
  new Big(value).minus(to).abs().lte(new Big(to).times(MAX_MOVE));

/**
 * Returns the quote to store after a reading of a feed: the reading if it is accepted, else the last quote with the reading
 * as its `doubted`.
 *
 * A short spike is rejected. A large change that persists, such as a devaluation, is accepted once enough readings confirm
 * it.
 *
 * @param now start of the refresh
 */
export function acceptReading(last: StoredQuote | undefined, reading: Reading, now: Date): StoredQuote {
  const accepted: StoredQuote = { ...reading, checkedAt: now, doubted: null };
  if (last === undefined || isNear(reading.value, last.value)) return accepted;
  const before = last.doubted;
  const agrees = before !== null && isNear(reading.value, before.value);
  const since = agrees ? before.since : now;
  const times = agrees ? before.times + 1 : 1;
  if (times >= CONFIRMATIONS && now.getTime() - since.getTime() >= CONFIRMATION_MS) return accepted;
  return { ...last, doubted: { value: reading.value, since, times } };
}
