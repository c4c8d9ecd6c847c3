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

/** The index in which matching calls are adjacent, newest first. */
function indexFor({ tool, state, keyId }: CallFilter) {
  if (keyId !== undefined) return CALL_INDEXES.ofKey;
  if (tool !== undefined) return CALL_INDEXES.ofTool;
  return state === undefined ? CALL_INDEXES.all : CALL_INDEXES.inState;
}

/** Pages of matching calls, newest first. Names the index, because MongoDB's trial runs may choose a slower one. */
export function pageOfCalls(
  { calls }: Store,
  accountId: string,
  filter: CallFilter,
  page: PageRequest,
): Promise<Page<CallDoc>> {
  const { tool, state, keyId, from, to } = filter;
  const states = state === undefined ? CALL_STATES : [state];
  const conditions = [
    ...(keyId === undefined ? [] : [{ keyId }]),
    ...(from === undefined ? [] : [{ startedAt: { $gte: from } }]),
    ...(to === undefined ? [] : [{ startedAt: { $lt: to } }]),
    // Without a state filter MongoDB merges the ranges of all states in the index.
    ...(tool === undefined ? [] : [{ tool, state: { $in: [...states] } }]),
    ...(tool !== undefined || state === undefined ? [] : [{ state }]),
  ];
  return pageByTime(
    'calls',
    (condition) => calls.find({ accountId, $and: [condition, ...conditions] }).hint(indexFor(filter)),
    'startedAt',
    page,
  );
}
