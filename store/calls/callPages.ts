import type { Document, FindCursor } from 'mongodb';
import type { Store } from '../mongo/mongo.ts';
import { type Page, type PageRequest, pageByTime } from '../mongo/pages.ts';
import { CALL_PAGE_INDEXES, CALL_STATES, type CallDoc, type CallState } from './callDocs.ts';

export interface CallFilter {
  tool?: string | undefined;
  state?: CallState | undefined;
  /** Id of the key; null: calls from the dashboard. */
  keyId?: string | null | undefined;
  /** Accepted at this time or later. */
  from?: Date | undefined;
  /** Accepted before this time. */
  to?: Date | undefined;
}

/** Returns the index in which the matching calls are adjacent, newest first. */
function indexFor({ tool, state, keyId }: CallFilter) {
  if (keyId !== undefined) return CALL_PAGE_INDEXES.ofKey;
  if (tool !== undefined) return CALL_PAGE_INDEXES.ofTool;
  return state === undefined ? CALL_PAGE_INDEXES.all : CALL_PAGE_INDEXES.inState;
}

/** Returns the tools whose ranges of the index contain the matching calls; null if the index does not contain the tool. */
async function toolsOf(
  calls: Store['calls'],
  accountId: string,
  { tool, keyId }: CallFilter,
): Promise<string[] | null> {
  if (tool !== undefined) return [tool];
  // By account, because a scan of distinct values cannot tell a null key from an absent one.
  return keyId === undefined ? null : calls.distinct('tool', { accountId });
}

/**
 * Returns the query for the matching calls, to which a condition can be added. It names its index, because MongoDB's
 * query planner may choose a slower one.
 */
async function queryFor(
  { calls }: Store,
  accountId: string,
  filter: CallFilter,
): Promise<(condition: Document) => FindCursor<CallDoc>> {
  const { state, keyId, from, to } = filter;
  const states = state === undefined ? CALL_STATES : [state];
  const tools = await toolsOf(calls, accountId, filter);
  const conditions = [
    ...(keyId === undefined ? [] : [{ keyId }]),
    ...(from === undefined ? [] : [{ startedAt: { $gte: from } }]),
    ...(to === undefined ? [] : [{ startedAt: { $lt: to } }]),
    // MongoDB merges the ranges of several states and tools in the index.
    ...(tools === null ? [] : [{ tool: { $in: tools }, state: { $in: [...states] } }]),
    ...(tools !== null || state === undefined ? [] : [{ state }]),
  ];
  return (condition) => calls.find({ accountId, $and: [condition, ...conditions] }).hint(indexFor(filter));
}

/** Returns a page of matching calls, newest first. */
export async function pageOfCalls(
  store: Store,
  accountId: string,
  filter: CallFilter,
  page: PageRequest,
): Promise<Page<CallDoc>> {
  return pageByTime('calls', await queryFor(store, accountId, filter), 'startedAt', page);
}

/** Rows that a cursor over all calls reads at once, so that an export needs little memory. */
const EXPORT_BATCH = 1000;

/** Returns a cursor over all matching calls, newest first. */
export async function allCalls(
  store: Store,
  accountId: string,
  filter: CallFilter,
): Promise<FindCursor<CallDoc>> {
  const query = await queryFor(store, accountId, filter);
  return query({}).sort({ startedAt: -1, _id: -1 }).batchSize(EXPORT_BATCH);
}
