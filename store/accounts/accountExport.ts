import type { FindCursor } from 'mongodb';
import type { BatchCallbackDoc, BatchDoc } from '../batches/batchDocs.ts';
import type { InvoiceDoc } from '../billing/invoiceDocs.ts';
import type { PaymentDoc } from '../billing/paymentDocs.ts';
import type { TopUpDoc } from '../billing/topUpDocs.ts';
import type { AutoTopUpDoc, TopUpRunDoc } from '../billing/topUpRunDocs.ts';
import type { CallContentDoc, CallDoc } from '../calls/callDocs.ts';
import type { RefusalDoc } from '../calls/refusalDocs.ts';
import type { FileDoc } from '../files/fileDocs.ts';
import type { JobDoc } from '../jobs/jobDocs.ts';
import type { ApiKeyDoc } from '../keys/keyDocs.ts';
import { copyJournal } from '../ledger/copyJournal.ts';
import type { Store } from '../mongo/mongo.ts';
import type { ScheduleCallbackDoc, ScheduleDoc, ScheduleRunDoc } from '../schedules/scheduleDocs.ts';
import type { DeliveryAttemptDoc, EventDoc, WebhookEndpointDoc } from '../webhooks/webhookDocs.ts';
import type { EntryDoc, GrantDoc } from './accountDocs.ts';
import type { SecurityEventDoc } from './securityDocs.ts';

/** Documents that a cursor reads at once; by default it reads up to 16 MB. */
const BATCH = 200;

/** Cursors over the stored documents of an account, newest first. */
export interface AccountCursors {
  keys(): FindCursor<ApiKeyDoc>;
  calls(): FindCursor<CallDoc>;
  /** The calls whose input and output are kept. */
  contents(): FindCursor<Pick<CallContentDoc, '_id'>>;
  files(): FindCursor<FileDoc>;
  jobs(): FindCursor<JobDoc>;
  /** The batches that have been accepted. */
  batches(): FindCursor<BatchDoc>;
  batchCallbacks(): FindCursor<BatchCallbackDoc>;
  schedules(): FindCursor<ScheduleDoc>;
  scheduleRuns(): FindCursor<ScheduleRunDoc>;
  scheduleCallbacks(): FindCursor<ScheduleCallbackDoc>;
  refusals(): FindCursor<RefusalDoc>;
  entries(): FindCursor<EntryDoc>;
  grants(): FindCursor<GrantDoc>;
  payments(): FindCursor<PaymentDoc>;
  topUps(): FindCursor<TopUpDoc>;
  invoices(): FindCursor<InvoiceDoc>;
  autoTopUp(): FindCursor<AutoTopUpDoc>;
  topUpRuns(): FindCursor<TopUpRunDoc>;
  webhooks(): FindCursor<WebhookEndpointDoc>;
  events(): FindCursor<EventDoc>;
  attempts(endpointId: string): FindCursor<DeliveryAttemptDoc>;
  securityLog(): FindCursor<SecurityEventDoc>;
}

/** Opens the documents of an account. Calls that have ended are included, even if their journal was not copied yet. */
export async function openAccountCursors(store: Store, accountId: string): Promise<AccountCursors> {
  await copyJournal(store, accountId);
  return {
    keys: () => store.apiKeys.find({ accountId }).sort({ createdAt: -1, _id: -1 }).batchSize(BATCH),
    contents: () =>
      store.callContents
        .find({ accountId })
        .sort({ expiresAt: -1 })
        .batchSize(BATCH)
        .project<{ _id: string }>({ _id: 1 }),
    calls: () => store.calls.find({ accountId }).sort({ startedAt: -1, _id: -1 }).batchSize(BATCH),
    files: () => store.files.find({ accountId }).sort({ expiresAt: -1 }).batchSize(BATCH),
    jobs: () => store.jobs.find({ accountId }).sort({ createdAt: -1, _id: -1 }).batchSize(BATCH),
    batches: () =>
      store.batches
        .find({ accountId, state: { $nin: ['creating', 'discarding'] } })
        .sort({ createdAt: -1, _id: -1 })
        .batchSize(BATCH),
    batchCallbacks: () => store.batchCallbacks.find({ accountId }).batchSize(BATCH),
    schedules: () =>
      store.schedules
        .find({ accountId, deletedAt: { $exists: false } })
        .sort({ createdAt: -1, _id: -1 })
        .batchSize(BATCH),
    scheduleRuns: () => store.scheduleRuns.find({ accountId }).batchSize(BATCH),
    scheduleCallbacks: () => store.scheduleCallbacks.find({ accountId }).batchSize(BATCH),
    refusals: () => store.refusals.find({ accountId }).sort({ firstAt: -1, _id: -1 }).batchSize(BATCH),
    entries: () => store.entries.find({ accountId }).sort({ seq: -1 }).batchSize(BATCH),
    grants: () => store.grants.find({ accountId }).sort({ at: -1 }).batchSize(BATCH),
    payments: () => store.payments.find({ accountId }).sort({ paidAt: -1 }).batchSize(BATCH),
    topUps: () => store.topUps.find({ accountId }).sort({ at: -1 }).batchSize(BATCH),
    invoices: () => store.invoices.find({ accountId }).sort({ issuedAt: -1, _id: -1 }).batchSize(BATCH),
    autoTopUp: () => store.autoTopUps.find({ _id: accountId }),
    topUpRuns: () => store.topUpRuns.find({ accountId }).sort({ at: -1, _id: -1 }).batchSize(BATCH),
    webhooks: () =>
      store.webhookEndpoints.find({ accountId }).sort({ createdAt: -1, _id: -1 }).batchSize(BATCH),
    events: () => store.events.find({ accountId }).sort({ createdAt: -1, _id: -1 }).batchSize(BATCH),
    attempts: (endpointId) =>
      store.deliveryAttempts.find({ endpointId }).sort({ at: -1, _id: -1 }).batchSize(BATCH),
    securityLog: () => store.securityEvents.find({ accountId }).sort({ at: -1, _id: -1 }).batchSize(BATCH),
  };
}
