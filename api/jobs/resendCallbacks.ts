import { retryStore } from '../../store/mongo/retryStore.ts';
import type { ResendLimit } from '../webhooks/resendLimit.ts';
import type { JobWorkflow } from './jobWorkflow.ts';

/**
 * Sends callbacks again, as many of them as the account may.
 *
 * @param ids of jobs, or of callbacks of batches and schedules
 * @param queue marks callbacks as due
 * @returns how many were queued
 * @throws ServiceError rate_limited
 */
export type ResendCallbacks = (
  accountId: string,
  ids: readonly string[],
  queue: (ids: readonly string[]) => Promise<unknown>,
) => Promise<number>;

/** @param limit that of the deliveries of webhooks: a callback leaves as much behind */
export const createResendCallbacks =
  (limit: Pick<ResendLimit, 'take'>, workflow: Pick<JobWorkflow, 'sendCallback'>): ResendCallbacks =>
  async (accountId, ids, queue) => {
    const permitted = ids.slice(0, await limit.take(accountId, ids.length));
    if (permitted.length > 0) await retryStore(() => queue(permitted));
    for (const id of permitted) workflow.sendCallback(id, accountId);
    return permitted.length;
  };
