import { ACCOUNT_OPERATIONS } from './account.ts';
import { BATCH_OPERATIONS } from './batches.ts';
import { FILE_OPERATIONS } from './files.ts';
import { JOB_OPERATIONS } from './jobs.ts';
import { META_OPERATIONS } from './meta.ts';
import type { Operation } from './operation.ts';
import { RECEIPT_OPERATIONS } from './receipts.ts';
import { SCHEDULE_OPERATIONS } from './schedules.ts';
import { WEBHOOK_OPERATIONS } from './webhooks.ts';

/** All operations in the API reference except tool calls. */
export const OPERATIONS: readonly Operation[] = [
  ...JOB_OPERATIONS,
  ...BATCH_OPERATIONS,
  ...FILE_OPERATIONS,
  ...SCHEDULE_OPERATIONS,
  ...ACCOUNT_OPERATIONS,
  ...RECEIPT_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...META_OPERATIONS,
];
