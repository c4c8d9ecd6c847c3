import { insertAllOnce, type Store } from '../mongo/mongo.ts';
import type { BudgetNotice, NoticeDoc, RefusedNotice } from '../webhooks/webhookDocs.ts';

/** Fields of a notice that its creation sets. */
type TimeFields = 'at' | 'tries' | 'dueAt';

/**
 * How long a claim on a notice lasts; longer than sending an email takes. If the process that claimed the notice
 * reports nothing by then, another process sends the email.
 */
const LEASE_MS = 120_000;
/** Milliseconds to wait after each failed attempt. A failure after the last wait drops the notice. */
const RETRY_MS = [60_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 43_200_000];

/** Claims a due notice for this process. Returns null if there is none. */
export const claimNotice = ({ notices }: Store): Promise<NoticeDoc | null> =>
  notices.findOneAndUpdate(
    { dueAt: { $lte: new Date() } },
    { $set: { dueAt: new Date(Date.now() + LEASE_MS) }, $inc: { tries: 1 } },
    { sort: { dueAt: 1 }, returnDocument: 'after' },
  );

/** Marks a notice as done: the email was sent, or there is no recipient. */
export async function endNotice({ notices }: Store, { _id }: NoticeDoc): Promise<void> {
  await notices.updateOne({ _id }, { $set: { dueAt: null } });
}

/** Schedules the next attempt after a failure. @returns false if the notice is dropped */
export async function postponeNotice({ notices }: Store, { _id, tries }: NoticeDoc): Promise<boolean> {
  const wait = RETRY_MS[tries - 1];
  const dueAt = wait === undefined ? null : new Date(Date.now() + wait);
  await notices.updateOne({ _id }, { $set: { dueAt } });
  return dueAt !== null;
}

/**
 * Creates a notice, unless it exists or the owner does not want mail about refused requests and budgets.
 *
 * @param notice its id identifies what it tells
 */
export async function createNotice(
  { accounts, notices }: Pick<Store, 'accounts' | 'notices'>,
  notice: Omit<RefusedNotice, TimeFields> | Omit<BudgetNotice, TimeFields>,
): Promise<void> {
  const wanted = { _id: notice.accountId, mailsAttention: true as const };
  if ((await accounts.findOne(wanted, { projection: { _id: 1 } })) === null) return;
  const at = new Date();
  await insertAllOnce(notices, [{ ...notice, at, tries: 0, dueAt: at }]);
}
