import { isPaidBack } from '../ledger/paybacks.ts';
import type { Store } from '../mongo/mongo.ts';

/** Whether the result of a call counts: it was not refunded, its price was not returned, and its account is open. */
export async function isLiveCall(
  { calls, grants, accounts }: Pick<Store, 'calls' | 'grants' | 'accounts'>,
  callId: string,
): Promise<boolean> {
  const call = await calls.findOne({ _id: callId }, { projection: { accountId: 1, state: 1 } });
  // Of a call that has just been charged, the journal may not have been copied.
  if (call === null || (call.state !== 'charged' && call.state !== 'running')) return false;
  const [isReturned, account] = await Promise.all([
    isPaidBack({ grants }, call),
    accounts.findOne({ _id: call.accountId }, { projection: { closedAt: 1 } }),
  ]);
  return !isReturned && account !== null && account.closedAt === undefined;
}
