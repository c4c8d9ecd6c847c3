import type { ErrorCode } from '../../schemas/errors.ts';
import type { Operation } from '../../schemas/operation.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';

/** What every call of a tool can answer, whatever the tool. */
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
/** What every operation of an account can answer. */
const ACCOUNT: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'insufficient_scope',
  'invalid_input',
  'rate_limited',
];
/** What an operation can answer for its body. */
const BODY: readonly ErrorCode[] = [
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'invalid_input',
];

/** Every code that a call of the tool can answer: those of every call, and its own. */
export function codesOfTool(tool: ToolDefinition): ErrorCode[] {
  // An input with secrets is not compared, so a call with it cannot find that it differs.
  const compared: ErrorCode[] = secretFields(tool).length === 0 ? ['idempotency_key_mismatch'] : [];
  return [...new Set([...CALL, ...compared, ...tool.errors])];
}

/** Every code that an operation can answer. */
export function codesOfOperation({ auth, body, errors }: Operation): ErrorCode[] {
  const common = [...(auth === 'account' ? ACCOUNT : []), ...(body === undefined ? [] : BODY)];
  return [...new Set<ErrorCode>([...common, ...errors, 'internal'])];
}
