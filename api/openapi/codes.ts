import type { ErrorCode } from '../../schemas/errors.ts';
import type { Operation } from '../../schemas/operation.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';

/** Errors of every tool call. */
const CALL: readonly ErrorCode[] = [
  'malformed_json',
  'invalid_header',
  'missing_api_key',
  'invalid_api_key',
  'insufficient_credits',
  'price_above_max',
  'tool_not_allowed',
  'insufficient_scope',
  'account_suspended',
  'idempotency_key_used',
  'body_too_large',
  'unsupported_media_type',
  'invalid_input',
  'rate_limited',
  'internal',
  'pool_busy',
  'tool_unavailable',
  'deadline_exceeded',
];
/** Errors that every operation of the Account API can return. */
const ACCOUNT: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'insufficient_scope',
  'invalid_input',
  'rate_limited',
];
/** Errors of every operation with a body. */
const BODY: readonly ErrorCode[] = [
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'invalid_input',
];

/** All error codes of a call of the tool. */
export function codesOfTool(tool: ToolDefinition): ErrorCode[] {
  // Inputs with secret fields have no fingerprint, so a mismatch is not detected.
  const compared: ErrorCode[] = secretFields(tool).length === 0 ? ['idempotency_key_mismatch'] : [];
  return [...new Set([...CALL, ...compared, ...tool.errors])];
}

/** All error codes of an operation. */
export function codesOfOperation({ auth, body, errors }: Operation): ErrorCode[] {
  const common = [...(auth === 'account' ? ACCOUNT : []), ...(body === undefined ? [] : BODY)];
  return [...new Set<ErrorCode>([...common, ...errors, 'internal'])];
}
