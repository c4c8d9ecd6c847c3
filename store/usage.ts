import { copyJournal } from './journal.ts';
import { type DailyToolUsage, isDuplicate, type Store, type UsageDoc } from './mongo.ts';

/** Days that are kept, today included. */
export const USAGE_DAYS = 14;
/** After so many lines an account's use is added up although nobody looks, so that who looks never waits for many. */
export const USAGE_INTERVAL = 1000;
/** Lines added up in one step. */
const STEP = 10_000;
const DAY_MS = 86_400_000;

/** Midnight UTC at the start of the first of so many days, of which today is the last. */
export const firstDay = (now: Date, days = USAGE_DAYS): Date =>
  new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS - (days - 1) * DAY_MS);

/** Sums of both, a row for each day and tool. */
function merge(days: readonly DailyToolUsage[], more: readonly DailyToolUsage[]): DailyToolUsage[] {
  const sums = new Map<string, DailyToolUsage>();
  for (const { day, tool, charged } of [...days, ...more]) {
    const key = `${day.getTime()} ${tool}`;
    sums.set(key, { day, tool, charged: (sums.get(key)?.charged ?? 0) + charged });
  }
  return [...sums.values()];
}

/** The charges of the lines after `seq` and up to `upTo`. */
async function addUp({ entries }: Store, { _id, seq }: UsageDoc, upTo: number, from: Date) {
  const rows = await entries
    .aggregate<{ _id: Omit<DailyToolUsage, 'charged'>; charged: number }>([
      {
        $match: {
          accountId: _id,
          seq: { $gt: seq, $lte: upTo },
          type: 'charge',
          at: { $gte: from },
        },
      },
      {
        $group: {
          _id: { day: { $dateTrunc: { date: '$at', unit: 'day' } }, tool: '$tool' },
          charged: { $sum: { $multiply: ['$amount', -1] } },
        },
      },
    ])
    .toArray();
  return rows.map((row): DailyToolUsage => ({ ...row._id, charged: row.charged }));
}

/**
 * What an account was charged in the last days, by UTC day and tool; days without charges are left out. The sums are
 * kept with the number of the last line that is in them, so each line counts once, however many add up at a time, and
 * without the kept sums the same come of the lines.
 */
export async function usageOf(store: Store, accountId: string): Promise<DailyToolUsage[]> {
  const newest = await copyJournal(store, accountId);
  const from = firstDay(new Date());
  for (;;) {
    const kept = (await store.usage.findOne({ _id: accountId })) ?? { _id: accountId, seq: 0, days: [] };
    const days = kept.days.filter(({ day }) => day >= from);
    if (kept.seq >= newest) return days;
    const upTo = Math.min(newest, kept.seq + STEP);
    const next = { seq: upTo, days: merge(days, await addUp(store, kept, upTo, from)) };
    try {
      // Changes nothing where somebody was faster: only the first sums make a document.
      await store.usage.replaceOne({ _id: accountId, seq: kept.seq }, next, { upsert: kept.seq === 0 });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
  }
}
