import { CALL_INDEXES } from './indexes.ts';
import { CALL_STATES, type CallDoc, type CallState, type Store } from './mongo.ts';
import { type Page, type PageRequest, pageByTime } from './pages.ts';

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
  if (keyId !== undefined) return CALL_INDEXES.ofKey;
  if (tool !== undefined) return CALL_INDEXES.ofTool;
  return state === undefined ? CALL_INDEXES.all : CALL_INDEXES.inState;
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
 * Returns a page of matching calls, newest first. The query names its index, because MongoDB's query planner may
 * choose a slower one.
 */
export async function pageOfCalls(
  { calls }: Store,
  accountId: string,
  filter: CallFilter,
  page: PageRequest,
): Promise<Page<CallDoc>> {
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
  return pageByTime(
    'calls',
    (condition) => calls.find({ accountId, $and: [condition, ...conditions] }).hint(indexFor(filter)),
    'startedAt',
    page,
  );
}
