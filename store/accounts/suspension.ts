import { ServiceError } from '../../schemas/errors.ts';
import type { Store } from '../mongo/mongo.ts';
import type { AccountDoc, GrantOperator } from './accountDocs.ts';
import { OPERATOR, recordSecurity } from './securityLog.ts';

/**
 * Suspends an account: its calls are refused with `account_suspended` from the next request on, while sessions, keys and
 * the Account API stay. Calls that run are completed. Repeating it replaces the reason.
 *
 * @param reason text for the owner, who sees it in the dashboard and the security log
 * @throws ServiceError not_found
 */
export const suspendAccount = (
  store: Store,
  accountId: string,
  reason: string,
  operator: GrantOperator,
): Promise<AccountDoc> =>
  store.transaction(async (session) => {
    const account = await store.accounts.findOneAndUpdate(
      { _id: accountId },
      { $set: { suspension: { at: new Date(), reason } } },
      { session, returnDocument: 'after' },
    );
    if (account === null) throw new ServiceError('not_found');
    const event = {
      accountId,
      kind: 'account_suspended',
      actor: OPERATOR,
      subject: reason,
      operator,
    } as const;
    await recordSecurity(store, event, session);
    return account;
  });

/**
 * Ends the suspension of an account, and its pause after too many calls without a charge. No-op if it has neither. A
 * shortfall still suspends it.
 *
 * @throws ServiceError not_found
 */
export const liftSuspension = (
  store: Store,
  accountId: string,
  operator: GrantOperator,
): Promise<AccountDoc> =>
  store.transaction(async (session) => {
    const before = await store.accounts.findOneAndUpdate(
      { _id: accountId },
      { $unset: { suspension: '', pausedUntil: '' } },
      { session },
    );
    if (before === null) throw new ServiceError('not_found');
    const { suspension, pausedUntil, ...account } = before;
    if (suspension !== undefined || pausedUntil !== undefined)
      await recordSecurity(
        store,
        { accountId, kind: 'suspension_lifted', actor: OPERATOR, operator },
        session,
      );
    return account;
  });
