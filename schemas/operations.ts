import { ACCOUNT_OPERATIONS } from './account.ts';
import { META_OPERATIONS } from './meta.ts';
import type { Operation } from './operation.ts';
import { WEBHOOK_OPERATIONS } from './webhooks.ts';

/** All operations of the reference besides the tools. */
export const OPERATIONS: readonly Operation[] = [
  ...ACCOUNT_OPERATIONS,
  ...WEBHOOK_OPERATIONS,
  ...META_OPERATIONS,
];
