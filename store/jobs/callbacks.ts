import type { CallbackAttemptRow } from '../../schemas/jobs.ts';
import type { AttemptedCallback, CallbackDoc } from './jobDocs.ts';

/** Number of attempts that are kept of a callback: the newest ones. */
const KEPT_ATTEMPTS = 20;

/** The entry of an attempt in the history of its callback. */
export const historyEntry = ({ attempts, statusCode, error }: AttemptedCallback) => ({
  $each: [{ attempt: attempts, at: new Date(), statusCode, error }],
  $slice: -KEPT_ATTEMPTS,
});

/** The states of a callback that can be sent again. */
export const SENDABLE: readonly CallbackDoc['state'][] = ['pending', 'delivered', 'failed'];

/**
 * The fields of a callback that is sent again: one that waits for its next attempt keeps its place in the retry schedule, any other
 * begins the schedule again.
 *
 * @param at path of the callback in its document, with a final dot; empty if the document is the callback
 */
export const sentAgain = (at: string) => ({
  [`${at}state`]: 'pending',
  [`${at}nextAt`]: '$$NOW',
  [`${at}tries`]: {
    $cond: [{ $eq: [`$${at}state`, 'pending'] }, { $ifNull: [`$${at}tries`, `$${at}attempts`] }, 0],
  },
});

/** The attempts of a callback as its owner sees them. */
export const attemptRows = ({ history = [] }: Pick<CallbackDoc, 'history'>): CallbackAttemptRow[] =>
  history.map(({ at, ...attempt }) => ({ ...attempt, at: at.toISOString() }));
