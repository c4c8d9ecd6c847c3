import type { CallDoc } from '../calls/callDocs.ts';
import { isPaidBack } from '../ledger/paybacks.ts';
import type { Store } from '../mongo/mongo.ts';

type Documents = Pick<Store, 'calls' | 'grants' | 'accounts'>;

/** Returns a call whose result counts: it was not refunded, its price was not returned, and its account is open; else null. */
export async function findLiveCall(
  { calls, grants, accounts }: Documents,
  callId: string,
): Promise<Pick<CallDoc, 'pendingAnswer'> | null> {
  const projection = { accountId: 1, state: 1, pendingAnswer: 1 };
  const call = await calls.findOne({ _id: callId }, { projection });
  // Of a call that has just been charged, the journal may not have been copied.
  if (call === null || (call.state !== 'charged' && call.state !== 'running')) return null;
  const [isReturned, account] = await Promise.all([
    isPaidBack({ grants }, call),
    accounts.findOne({ _id: call.accountId }, { projection: { closedAt: 1 } }),
  ]);
  return !isReturned && account !== null && account.closedAt === undefined ? call : null;
}

/** Whether the result of a call counts. */
export const isLiveCall = async (store: Documents, callId: string): Promise<boolean> =>
  (await findLiveCall(store, callId)) !== null;
