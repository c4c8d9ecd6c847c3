import type { IndexDescription } from 'mongodb';

interface UsageSums {
  /** Calls that have ended. */
  calls: number;
  /** Calls that returned a result. */
  succeeded: number;
  /** Credits. */
  charged: number;
}

/** The calls of one tool on one day. */
export interface ToolUsage extends UsageSums {
  tool: string;
  /** Histogram of the durations of successful calls: number of calls by bucket; see `percentile` in `usage.ts`. */
  times: Record<string, number>;
}

/** The calls with one key on one day. */
export interface KeyUsage extends UsageSums {
  /** Null for calls from the dashboard. */
  keyId: string | null;
  keyPrefix: string | null;
}

/** Sums of an account's calls on one day; see `usageOf`. */
export interface UsageDayDoc {
  _id: string;
  accountId: string;
  /** Midnight UTC. */
  day: Date;
  /** Calls accepted before this time are in the sums. */
  until: Date;
  tools: ToolUsage[];
  keys: KeyUsage[];
}

/** Retention of usage sums in seconds. Longer than the longest period for which usage is shown. */
const USAGE_SECONDS = 100 * 86_400;

export const USAGE_DAY_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, day: -1 } },
  { key: { day: 1 }, expireAfterSeconds: USAGE_SECONDS },
];
