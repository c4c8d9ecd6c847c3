import { CALL_INDEXES } from './indexes.ts';
import { CALL_STATES, type CallDoc, type CallState, type Store } from './mongo.ts';
import { type Page, type PageRequest, pageByTime } from './pages.ts';

export interface CallFilter {
  tool?: string | undefined;
  state?: CallState | undefined;
  /** Accepted at this time or later. */
  from?: Date | undefined;
  /** Accepted before this time. */
  to?: Date | undefined;
}

/** The index that has what fits side by side, newest first. */
function indexFor({ tool, state }: CallFilter) {
  if (tool !== undefined) return CALL_INDEXES.ofTool;
  return state === undefined ? CALL_INDEXES.all : CALL_INDEXES.inState;
}

/** Calls that fit, newest first. Which index is good for it is known here better than by trying them. */
export function pageOfCalls(
  { calls }: Store,
  accountId: string,
  filter: CallFilter,
  page: PageRequest,
): Promise<Page<CallDoc>> {
  const { tool, state, from, to } = filter;
  const states = state === undefined ? CALL_STATES : [state];
  const conditions = [
    ...(from === undefined ? [] : [{ startedAt: { $gte: from } }]),
    ...(to === undefined ? [] : [{ startedAt: { $lt: to } }]),
    // Without a state those of each are merged: they lie apart in the index.
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
