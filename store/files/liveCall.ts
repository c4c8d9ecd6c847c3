import { grantId } from '../accounts/accounts.ts';
import type { Store } from '../mongo/mongo.ts';

/** Whether the result of a call counts: it was not refunded, its price was not returned, and its account is open. */
export async function isLiveCall(
  { calls, grants, accounts }: Pick<Store, 'calls' | 'grants' | 'accounts'>,
  callId: string,
): Promise<boolean> {
  const call = await calls.findOne({ _id: callId }, { projection: { accountId: 1, state: 1 } });
  // Of a call that has just been charged, the journal may not have been copied.
  if (call === null || (call.state !== 'charged' && call.state !== 'running')) return false;
  const { accountId } = call;
  const returned = grantId({ accountId, type: 'adjustment', reference: `call ${callId}` });
  const [grant, account] = await Promise.all([
    grants.findOne({ _id: returned }, { projection: { _id: 1 } }),
    accounts.findOne({ _id: accountId }, { projection: { closedAt: 1 } }),
  ]);
  return grant === null && account !== null && account.closedAt === undefined;
}
