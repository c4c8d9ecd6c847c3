import type { AnyBulkWriteOperation } from 'mongodb';
import { cutText, type ErrorCode, type Fault } from '../../schemas/errors.ts';
import { firstDay } from '../billing/usage.ts';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import type { RefusalDayDoc, RefusalDoc } from './refusalDocs.ts';

/** A request that was refused before it became a call. */
export interface Refusal {
  accountId: string;
  keyId: string | null;
  keyPrefix: string | null;
  tool: string | null;
  code: ErrorCode;
  faults: readonly Fault[];
  requestId: string;
}

/** Records refused requests: counted in memory, and written at intervals by all processes into the same documents. */
export interface Refusals {
  /** Counts a refused request. Costs no command. */
  record(refusal: Refusal): void;
  /** Writes what was counted. */
  flush(): Promise<void>;
}

/** Interval in milliseconds at which a process writes its counts. */
const WRITE_INTERVAL_MS = 5000;
/** Accounts that a process counts between two writes; refusals of further accounts are not recorded. */
const MAX_ACCOUNTS = 1000;
/** Combinations of key, tool and code of an account between two writes; further requests are one combination, "various". */
const MAX_GROUPS = 20;
/** Documents of an account that are kept: the newest. */
export const MAX_REFUSALS = 500;
const KEPT_FAULTS = 5;
const KEPT_IDS = 10;
const POINTER_LENGTH = 100;
const MESSAGE_LENGTH = 200;
const HOUR_MS = 3_600_000;

const dayOf = (at: Date): Date => firstDay(at, 1);

const shorten = ({ pointer, message }: Fault): Fault => ({
  pointer: cutText(pointer, POINTER_LENGTH),
  message: cutText(message, MESSAGE_LENGTH),
});

type Group = Omit<RefusalDoc, 'accountId'>;

const hourOf = (at: Date): string => new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS).toISOString();

function newGroup(refusal: Refusal, at: Date, isVarious: boolean): Group {
  const { accountId, keyId, keyPrefix, tool, code } = refusal;
  const parts = isVarious ? ['various'] : [keyId ?? '-', tool ?? '-', code];
  const of = { keyId, keyPrefix, tool, code };
  const various = { keyId: null, keyPrefix: null, tool: null, code: null };
  return {
    _id: [accountId, hourOf(at), ...parts].join(' '),
    firstAt: at,
    lastAt: at,
    count: 0,
    ...(isVarious ? various : of),
    faults: [],
    requestIds: [],
  };
}

/** Counts the refusals of one account between two writes. */
function createCounts() {
  const groups = new Map<string, Group>();
  const days = new Map<number, number>();
  return {
    groups,
    days,
    add(refusal: Refusal, at: Date): void {
      const own = newGroup(refusal, at, false);
      const isVarious = !groups.has(own._id) && groups.size >= MAX_GROUPS;
      const made = isVarious ? newGroup(refusal, at, true) : own;
      const group = groups.get(made._id) ?? made;
      groups.set(group._id, group);
      group.count += 1;
      group.lastAt = at;
      group.faults = isVarious ? [] : refusal.faults.slice(0, KEPT_FAULTS).map(shorten);
      group.requestIds = [...group.requestIds, refusal.requestId].slice(-KEPT_IDS);
      const day = dayOf(at).getTime();
      days.set(day, (days.get(day) ?? 0) + 1);
    },
  };
}

type Counts = ReturnType<typeof createCounts>;

const writeOf = (accountId: string, group: Group): AnyBulkWriteOperation<RefusalDoc> => {
  const { _id, count, lastAt, faults, requestIds, ...first } = group;
  return {
    updateOne: {
      filter: { _id },
      update: {
        $setOnInsert: { accountId, ...first },
        $inc: { count },
        $max: { lastAt },
        $set: { faults },
        $push: { requestIds: { $each: requestIds, $slice: -KEPT_IDS } },
      },
      upsert: true,
    },
  };
};

const dayWrites = (accountId: string, { days }: Counts): AnyBulkWriteOperation<RefusalDayDoc>[] =>
  [...days].map(([time, count]) => {
    const day = new Date(time);
    return {
      updateOne: {
        filter: { _id: `${accountId} ${day.toISOString().slice(0, 10)}` },
        update: { $setOnInsert: { accountId, day }, $inc: { count } },
        upsert: true,
      },
    };
  });

/** Deletes the oldest documents of an account above `MAX_REFUSALS`. */
async function prune({ refusals }: Pick<Store, 'refusals'>, accountId: string): Promise<void> {
  const first = await refusals
    .find({ accountId })
    .sort({ firstAt: -1, _id: -1 })
    .skip(MAX_REFUSALS)
    .limit(1)
    .next();
  if (first !== null) await refusals.deleteMany({ accountId, firstAt: { $lte: first.firstAt } });
}

/**
 * Creates the recorder. A crash loses the counts of the last seconds. However many requests are refused, a process sends two
 * commands in an interval, and two more for each account with new combinations.
 */
export function createRefusals(
  store: Pick<Store, 'refusals' | 'refusalDays'>,
  onError: (error: unknown) => void,
): Refusals {
  const waiting = new Map<string, Counts>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  async function write(): Promise<void> {
    const due = [...waiting];
    waiting.clear();
    if (due.length === 0) return;
    const groups = due.flatMap(([accountId, counts]) =>
      [...counts.groups.values()].map((group) => ({ accountId, write: writeOf(accountId, group) })),
    );
    const { upsertedIds } = await store.refusals.bulkWrite(
      groups.map((group) => group.write),
      { ordered: false },
    );
    await store.refusalDays.bulkWrite(
      due.flatMap(([accountId, counts]) => dayWrites(accountId, counts)),
      { ordered: false },
    );
    const grown = new Set(
      Object.keys(upsertedIds).flatMap((index) => groups[Number(index)]?.accountId ?? []),
    );
    for (const accountId of grown) await prune(store, accountId);
  }

  /** Writes are serialised, so that what waits stays bounded while MongoDB is slow. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing = writing.then(write, write);
    return writing;
  }

  return {
    flush,
    record(refusal) {
      const { accountId } = refusal;
      const counts = waiting.get(accountId) ?? createCounts();
      if (!waiting.has(accountId) && waiting.size >= MAX_ACCOUNTS) return;
      waiting.set(accountId, counts);
      counts.add(refusal, new Date());
      timer ??= setTimeout(() => flush().catch(onError), WRITE_INTERVAL_MS).unref();
    },
  };
}

/** Selects refusals of an account. */
export interface RefusalFilter {
  tool?: string | undefined;
  keyId?: string | null | undefined;
}

/** Returns a page of the refused requests of an account, newest first by the first request of each document. */
export const pageOfRefusals = (
  { refusals }: Pick<Store, 'refusals'>,
  accountId: string,
  { tool, keyId }: RefusalFilter,
  page: PageRequest,
): Promise<Page<RefusalDoc>> =>
  pageByTime(
    'refusals',
    (condition) =>
      refusals.find({
        accountId,
        ...condition,
        ...(tool !== undefined && { tool }),
        ...(keyId !== undefined && { keyId }),
      }),
    'firstAt',
    page,
  );

/** Returns the document with a refused request; null if none of the account's is known by this id. */
export const findRefusal = (
  { refusals }: Pick<Store, 'refusals'>,
  accountId: string,
  requestId: string,
): Promise<RefusalDoc | null> => refusals.findOne({ accountId, requestIds: requestId });

/** Returns the numbers of refused requests of the last days, without days that have none. */
export const refusedByDay = (
  { refusalDays }: Pick<Store, 'refusalDays'>,
  accountId: string,
  days: number,
): Promise<Pick<RefusalDayDoc, 'day' | 'count'>[]> =>
  refusalDays
    .find({ accountId, day: { $gte: firstDay(new Date(), days) } })
    .sort({ day: 1 })
    .toArray();
