import { Big } from 'big.js';
import type { StoredQuote } from '../../store/mongo.ts';
import type { Reading } from './reading.ts';

/** A quote that moved by more than this part of the last good one is doubted. */
const MAX_MOVE = '0.2';
/** A doubted move is believed once so many refreshes in a row agreed on it, over so long a time. */
const AGREEING = 3;
const AGREEING_FOR_MS = 10 * 60_000;

const isNear = (value: string, to: string): boolean =>
  new Big(value).minus(to).abs().lte(new Big(to).times(MAX_MOVE));

/**
 * Decides whether a reading takes the place of the last good quote.
 *
 * A spike is not believed, but a currency may lose a third of its worth in a day for good: what keeps being said, and
 * neither goes back nor wanders off, becomes the good quote in the end.
 *
 * @param now when the refresh began
 */
export function judge(last: StoredQuote | undefined, reading: Reading, now: Date): StoredQuote {
  const good: StoredQuote = { ...reading, checkedAt: now, doubted: null };
  if (last === undefined || isNear(reading.value, last.value)) return good;
  const before = last.doubted;
  const goesOn = before !== null && isNear(reading.value, before.value);
  const since = goesOn ? before.since : now;
  const times = goesOn ? before.times + 1 : 1;
  if (times >= AGREEING && now.getTime() - since.getTime() >= AGREEING_FOR_MS) return good;
  return { ...last, doubted: { value: reading.value, since, times } };
}
