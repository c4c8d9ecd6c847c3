import type { ERRORS } from '../../schemas/errors.ts';
import type { AccountDoc } from '../../store/accounts/accountDocs.ts';
import type { JobDoc } from '../../store/jobs/jobDocs.ts';
import type { JobStorage } from '../../store/jobs/storedBytes.ts';
import { isLive } from '../../store/keys/apiKeys.ts';
import type { ApiKeyDoc } from '../../store/keys/keyDocs.ts';
import type { Store } from '../../store/mongo/mongo.ts';

export type JobRefusal = { code: keyof typeof ERRORS; detail?: string };

/** Whether the key of a job may call its tool. @param key null: the job has none */
export const mayCall = (key: Pick<ApiKeyDoc, 'tools'> | null, tool: string): boolean =>
  key?.tools == null || key.tools.includes(tool);

/**
 * Returns why a job may not run now, by its account and its key; null if it may. With `cancelled`, the other jobs of the key or the
 * account may not run either, now or later.
 */
export async function refusalOf(
  { store, storage }: { store: Pick<Store, 'accounts'>; storage: JobStorage },
  { accountId, keyId }: Pick<JobDoc, 'accountId' | 'keyId'>,
  key: ApiKeyDoc | null,
): Promise<JobRefusal | null> {
  if (keyId !== null && (key === null || !isLive(key, new Date())))
    return { code: 'cancelled', detail: 'The API key of the job was revoked or has expired.' };
  const account = await store.accounts.findOne<Pick<AccountDoc, 'suspension' | 'closedAt' | 'pausedUntil'>>(
    { _id: accountId },
    { projection: { suspension: 1, closedAt: 1, pausedUntil: 1 } },
  );
  if (account === null || account.closedAt !== undefined) return { code: 'cancelled' };
  if (account.suspension !== undefined) return { code: 'account_suspended' };
  if (account.pausedUntil !== undefined && account.pausedUntil > new Date())
    return {
      code: 'rate_limited',
      detail: 'Too many calls of this account ended without a result in the last 24 hours.',
    };
  if ((await storage.isFull(accountId)) !== null)
    return {
      code: 'rate_limited',
      detail:
        'The inputs and results of the jobs of this account, or of all accounts, take too much storage.',
    };
  return null;
}
