import type { IndexDescription } from 'mongodb';
import type { ErrorCode, Fault } from '../../schemas/errors.ts';

/**
 * Requests of one hour that were refused before they became calls, with the same key, tool and error code. It contains no
 * input: a fault has the name of a field and the rule that it breaks.
 */
export interface RefusalDoc {
  _id: string;
  accountId: string;
  firstAt: Date;
  lastAt: Date;
  count: number;
  keyId: string | null;
  keyPrefix: string | null;
  /** Null if the request was refused before its tool was known. */
  tool: string | null;
  /** Null if the requests have various keys, tools and codes; see `createRefusals`. */
  code: ErrorCode | null;
  /** The first faults of the latest request. */
  faults: Fault[];
  /** The ids of the latest requests, oldest first. */
  requestIds: string[];
}

/** Number of refused requests of an account on one day. */
export interface RefusalDayDoc {
  _id: string;
  accountId: string;
  /** Midnight UTC. */
  day: Date;
  count: number;
}

/** Retention in seconds: 7 days, as of calls that were not charged. */
const REFUSAL_SECONDS = 7 * 86_400;
/** Retention of the numbers by day, which charts show: that of the usage sums. */
const REFUSAL_DAY_SECONDS = 100 * 86_400;

export const REFUSAL_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, firstAt: -1, _id: -1 } },
  { key: { lastAt: 1 }, expireAfterSeconds: REFUSAL_SECONDS },
];

export const REFUSAL_DAY_INDEXES: IndexDescription[] = [
  { key: { accountId: 1, day: -1 } },
  { key: { day: 1 }, expireAfterSeconds: REFUSAL_DAY_SECONDS },
];
