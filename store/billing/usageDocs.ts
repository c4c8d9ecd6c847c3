/** Sums of calls. */
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
