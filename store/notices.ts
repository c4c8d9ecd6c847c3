import type { Store } from './mongo.ts';
import type { NoticeDoc } from './webhookDocs.ts';

/** Longer than sending takes; if nobody says by then how it went, somebody else tries. */
const LEASE_MS = 120_000;
/** Waits after a first, second … try that failed; after the last of them nobody is told. */
const RETRY_MS = [60_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 43_200_000];

/** Takes a notice that is due, for this process alone. Null: there is none. */
export const claimNotice = ({ notices }: Store): Promise<NoticeDoc | null> =>
  notices.findOneAndUpdate(
    { dueAt: { $lte: new Date() } },
    { $set: { dueAt: new Date(Date.now() + LEASE_MS) }, $inc: { tries: 1 } },
    { sort: { dueAt: 1 }, returnDocument: 'after' },
  );

/** It was sent, or there is nobody to tell. */
export async function endNotice({ notices }: Store, { _id }: NoticeDoc): Promise<void> {
  await notices.updateOne({ _id }, { $set: { dueAt: null } });
}

/** It could not be sent. @returns whether it will be tried again */
export async function postponeNotice({ notices }: Store, { _id, tries }: NoticeDoc): Promise<boolean> {
  const wait = RETRY_MS[tries - 1];
  const dueAt = wait === undefined ? null : new Date(Date.now() + wait);
  await notices.updateOne({ _id }, { $set: { dueAt } });
  return dueAt !== null;
}
