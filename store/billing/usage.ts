import { CALL_PAGE_INDEXES, type CallState } from '../calls/callDocs.ts';
import { copyJournal } from '../ledger/copyJournal.ts';
import { isDuplicate, type Store } from '../mongo/mongo.ts';
import type { KeyUsage, ToolUsage, UsageDayDoc } from './usageDocs.ts';

/** Longest period in days, including today. */
export const USAGE_DAYS = 90;
/**
 * Usage is summed at every multiple of this number of entries, even if no request reads it, so that a read never has
 * to sum many.
 */
export const USAGE_INTERVAL = 1000;
/**
 * Stored sums include only calls that were accepted at least this long ago, because the clocks of API processes differ and
 * inserts can take long.
 */
const SETTLE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Ratio of two adjacent bounds of the histogram of durations, which is the precision of percentiles. */
const GROWTH = 1.2;

const ENDED: readonly CallState[] = ['charged', 'refunded', 'refused'];

/** The usage of an account on one UTC day. */
export type DailyUsage = Pick<UsageDayDoc, 'day' | 'tools' | 'keys'>;

/** Returns the start (midnight UTC) of the first of `days` days, of which today is the last. */
export const firstDay = (now: Date, days = USAGE_DAYS): Date =>
  new Date(Math.floor(now.getTime() / DAY_MS) * DAY_MS - (days - 1) * DAY_MS);

const dayAfter = (day: Date): Date => new Date(day.getTime() + DAY_MS);
const earlier = (a: Date, b: Date): Date => new Date(Math.min(a.getTime(), b.getTime()));
const later = (a: Date, b: Date): Date => new Date(Math.max(a.getTime(), b.getTime()));

/** The calls of one tool with one key and about the same duration. */
interface Group {
  _id: { tool: string; keyId: string | null; bucket: number | null };
  keyPrefix: string | null;
  calls: number;
  succeeded: number;
  charged: number;
}

/** Groups the ended calls that were accepted from `from` until before `to`. */
const groupCalls = ({ calls }: Store, accountId: string, from: Date, to: Date): Promise<Group[]> =>
  calls
    .aggregate<Group>(
      [
        { $match: { accountId, startedAt: { $gte: from, $lt: to }, state: { $in: [...ENDED] } } },
        {
          $group: {
            _id: {
              tool: '$tool',
              keyId: '$keyId',
              bucket: {
                $cond: [
                  { $eq: ['$state', 'charged'] },
                  {
                    $floor: {
                      $divide: [
                        { $ln: { $max: [1, { $subtract: ['$finishedAt', '$startedAt'] }] } },
                        Math.log(GROWTH),
                      ],
                    },
                  },
                  null,
                ],
              },
            },
            keyPrefix: { $first: '$keyPrefix' },
            calls: { $sum: 1 },
            succeeded: { $sum: { $cond: [{ $eq: ['$state', 'charged'] }, 1, 0] } },
            charged: { $sum: '$charged' },
          },
        },
      ],
      { hint: CALL_PAGE_INDEXES.all },
    )
    .toArray();

const NOTHING = { calls: 0, succeeded: 0, charged: 0 };

/** Adds groups to the sums of a day. */
function addGroups({ day, tools, keys }: DailyUsage, groups: readonly Group[]): DailyUsage {
  const byTool = new Map(tools.map((row) => [row.tool, { ...row, times: { ...row.times } }]));
  const byKey = new Map(keys.map((row) => [row.keyId, { ...row }]));
  for (const { _id, keyPrefix, calls, succeeded, charged } of groups) {
    const tool: ToolUsage = byTool.get(_id.tool) ?? { tool: _id.tool, ...NOTHING, times: {} };
    const key: KeyUsage = byKey.get(_id.keyId) ?? { keyId: _id.keyId, keyPrefix, ...NOTHING };
    for (const row of [tool, key]) {
      row.calls += calls;
      row.succeeded += succeeded;
      row.charged += charged;
    }
    if (_id.bucket !== null) tool.times[_id.bucket] = (tool.times[_id.bucket] ?? 0) + calls;
    byTool.set(_id.tool, tool);
    byKey.set(_id.keyId, key);
  }
  return { day, tools: [...byTool.values()], keys: [...byKey.values()] };
}

/** The time until which all calls have ended and can be summed. */
async function settledUntil({ calls }: Store, accountId: string, now: Date, settleMs: number): Promise<Date> {
  const running = await calls
    .find({ accountId, state: 'running' }, { projection: { startedAt: 1 } })
    .hint(CALL_PAGE_INDEXES.inState)
    .sort({ startedAt: 1, _id: 1 })
    .limit(1)
    .next();
  const until = new Date(now.getTime() - settleMs);
  return running === null ? until : earlier(until, running.startedAt);
}

/**
 * Stores the sums of all days up to `settled`, day by day. Each document has the time until which calls are in it, so
 * that each call counts once even with concurrent writers.
 *
 * @returns the time until which all calls are in the stored sums
 */
async function storeSums(store: Store, accountId: string, now: Date, settled: Date): Promise<Date> {
  const { calls, usageDays } = store;
  for (;;) {
    const newest = await usageDays.find({ accountId }).sort({ day: -1 }).limit(1).next();
    const from = newest?.until ?? firstDay(now);
    const next = await calls
      .find({ accountId, startedAt: { $gte: from, $lt: settled } }, { projection: { startedAt: 1 } })
      .hint(CALL_PAGE_INDEXES.all)
      .sort({ startedAt: 1, _id: 1 })
      .limit(1)
      .next();
    if (next === null) return later(from, settled);
    const day = firstDay(next.startedAt, 1);
    const until = earlier(dayAfter(day), settled);
    const known = newest !== null && newest.day.getTime() === day.getTime() ? newest : null;
    const groups = await groupCalls(store, accountId, known?.until ?? day, until);
    const sums = addGroups(known ?? { day, tools: [], keys: [] }, groups);
    const _id = `${accountId} ${day.toISOString().slice(0, 10)}`;
    try {
      // No-op when another process has advanced `until`.
      if (known === null) await usageDays.insertOne({ _id, accountId, until, ...sums });
      else await usageDays.updateOne({ _id, until: known.until }, { $set: { until, ...sums } });
    } catch (error) {
      if (!isDuplicate(error)) throw error;
    }
  }
}

/**
 * Returns the usage of an account on the last days, oldest first, without days that have no calls. Calls count on the day
 * on which they were accepted, as soon as they have ended. Sums of all but the newest calls are stored; deleted sums are
 * recomputed.
 *
 * @param days number of days including today, at most `USAGE_DAYS`
 */
export async function usageOf(
  store: Store,
  accountId: string,
  days = USAGE_DAYS,
  settleMs = SETTLE_MS,
): Promise<DailyUsage[]> {
  await copyJournal(store, accountId);
  const now = new Date();
  const settled = await settledUntil(store, accountId, now, settleMs);
  const stored = await storeSums(store, accountId, now, settled);
  const from = firstDay(now, days);
  const sums = new Map(
    (
      await store.usageDays
        .find({ accountId, day: { $gte: from } })
        .sort({ day: 1 })
        .toArray()
    ).map((row): [number, DailyUsage] => [row.day.getTime(), row]),
  );
  // The newest calls, which can be on two days around midnight, or on more while an old call is still running.
  for (let day = firstDay(stored, 1); day <= now; day = dayAfter(day)) {
    if (day < from) continue;
    const sum = sums.get(day.getTime()) ?? { day, tools: [], keys: [] };
    const groups = await groupCalls(store, accountId, later(day, stored), dayAfter(day));
    if (groups.length > 0) sums.set(day.getTime(), addGroups(sum, groups));
  }
  return [...sums.values()].sort((a, b) => a.day.getTime() - b.day.getTime());
}

/** Durations of successful calls: the number of calls by bucket. */
export type Histogram = readonly (number | undefined)[];

/** Adds up the histograms of `ToolUsage`. */
export function sumTimes(rows: readonly Pick<ToolUsage, 'times'>[]): Histogram {
  const sums: number[] = [];
  for (const { times } of rows)
    for (const bucket in times) {
      const index = Number(bucket);
      sums[index] = (sums[index] ?? 0) + (times[bucket] ?? 0);
    }
  return sums;
}

/** Adds up histograms. */
export function mergeTimes(histograms: readonly Histogram[]): Histogram {
  const sums: number[] = [];
  for (const histogram of histograms)
    for (const [index, calls = 0] of histogram.entries()) sums[index] = (sums[index] ?? 0) + calls;
  return sums;
}

/** The duration in milliseconds that a share of successful calls did not exceed, within 10 %; null without calls. */
export function percentile(times: Histogram, share: number): number | null {
  const wanted = share * times.reduce<number>((total, calls = 0) => total + calls, 0);
  let seen = 0;
  for (const [bucket, calls = 0] of times.entries()) {
    seen += calls;
    if (calls > 0 && seen >= wanted) return Math.round(GROWTH ** (bucket + 0.5));
  }
  return null;
}
