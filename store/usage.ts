import { copyJournal } from './journal.ts';
import { type DailyToolUsage, isDuplicate, type Store, type UsageDoc } from './mongo.ts';

/** Number of days kept, including today. */
export const USAGE_DAYS = 14;
/** Entries after which usage is summed without a reader, so that readers never wait for many. */
export const USAGE_INTERVAL = 1000;
/** Entries summed in one step. */
const BATCH = 10_000;
const DAY_MS = 86_400_000;

/** Start (midnight UTC) of the first of `days` days, of which today is the last. */
export const firstDay = (now: Date, days = USAGE_DAYS): Date =>
  new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS - (days - 1) * DAY_MS);

/** Adds up two lists, with one row per day and tool. */
function merge(days: readonly DailyToolUsage[], more: readonly DailyToolUsage[]): DailyToolUsage[] {
  const sums = new Map<string, DailyToolUsage>();
  for (const { day, tool, charged } of [...days, ...more]) {
    const key = `${day.getTime()} ${tool}`;
    sums.set(key, { day, tool, charged: (sums.get(key)?.charged ?? 0) + charged });
  }
  return [...sums.values()];
}

/** Sums the charges of entries after `seq` up to `upTo`. */
async function sumCharges({ entries }: Store, { _id, seq }: UsageDoc, upTo: number, from: Date) {
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
 * Returns an account's charges of the last days by UTC day and tool, without empty days. The sums are stored with the
 * number of the last entry in them, so each entry counts once even with concurrent readers. Deleted sums are recomputed.
 */
export async function usageOf(store: Store, accountId: string): Promise<DailyToolUsage[]> {
  const newest = await copyJournal(store, accountId);
  const from = firstDay(new Date());
  for (;;) {
    const stored = (await store.usage.findOne({ _id: accountId })) ?? { _id: accountId, seq: 0, days: [] };
    const days = stored.days.filter(({ day }) => day >= from);
    if (stored.seq >= newest) return days;
    const upTo = Math.min(newest, stored.seq + BATCH);
    const next = { seq: upTo, days: merge(days, await sumCharges(store, stored, upTo, from)) };
    try {
      // No-op when another process has advanced `seq`; upserts only the first document.
      await store.usage.replaceOne({ _id: accountId, seq: stored.seq }, next, { upsert: stored.seq === 0 });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
  }
}
