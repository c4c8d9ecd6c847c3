import { ACCOUNT_OPERATIONS } from './account.ts';
import { META_OPERATIONS } from './meta.ts';
import type { Operation } from './operation.ts';
import { WEBHOOK_OPERATIONS } from './webhooks.ts';

/** Everything the API does beside the tools: what the reference lists. */
export const OPERATIONS: readonly Operation[] = [
  ...ACCOUNT_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...META_OPERATIONS,
];
