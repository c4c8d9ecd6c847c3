export { UtilityToolsAccount } from './account.ts';
export type {
  Batches,
  BatchFileOptions,
  BatchFileType,
  BatchOptions,
  BatchResult,
} from './batches.ts';
export { UtilityTools } from './client.ts';
export {
  AbortedError,
  ApiError,
  ConnectionError,
  type ExceededBudget,
  type Fault,
  isApiError,
  TimeoutError,
  UtilityToolsError,
  WebhookVerificationError,
} from './errors.ts';
export type { Files } from './files.ts';
export type { ErrorCode } from './generated/errors.ts';
export type { JobTypes } from './generated/tools.ts';
export type * from './generated/types.ts';
export type { JobOf, JobOptions, JobOutput, JobResult, Jobs, JobTool } from './jobs.ts';
export type { CallOptions, ClientOptions, RequestOptions, Retry } from './options.ts';
export type { Receipt } from './receipts.ts';
export type { Credits, FileResult, Result, ReusedResult, ToolFile } from './result.ts';
export type { ScheduleOptions, Schedules } from './schedules.ts';
export { type Delivery as WebhookDelivery, verifyWebhook } from './webhooks.ts';
