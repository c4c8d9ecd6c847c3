import type { ErrorCode } from '../../schemas/errors.ts';
import type { Operation } from '../../schemas/operation.ts';
import { secretFields, type ToolDefinition } from '../../schemas/tool.ts';

/** Error codes that every tool call can return. */
const CALL: readonly ErrorCode[] = [
  'malformed_json',
  'invalid_header',
  'missing_api_key',
  'invalid_api_key',
  'insufficient_credits',
  'price_above_max',
  'key_budget_exceeded',
  'tool_not_allowed',
  'insufficient_scope',
  'network_not_allowed',
  'account_suspended',
  'idempotency_key_used',
  'cancelled',
  'body_too_large',
  'unsupported_media_type',
  'invalid_input',
  'rate_limited',
  'internal',
  'pool_busy',
  'tool_unavailable',
  'deadline_exceeded',
];
/** Error codes that every operation with a key can return. */
export const KEYED: readonly ErrorCode[] = [
  'missing_api_key',
  'invalid_api_key',
  'insufficient_scope',
  'network_not_allowed',
  'invalid_input',
  'rate_limited',
];
/** Error codes that every operation with a request body can return. */
const BODY: readonly ErrorCode[] = [
  'malformed_json',
  'body_too_large',
  'unsupported_media_type',
  'invalid_input',
];

export function codesOfTool(tool: ToolDefinition): ErrorCode[] {
  // Inputs with secret fields have no fingerprint, so a request with the same Idempotency-Key is not compared with
  // them.
  const compared: ErrorCode[] = secretFields(tool).length === 0 ? ['idempotency_key_mismatch'] : [];
  return [...new Set([...CALL, ...compared, ...tool.errors])];
}

export function codesOfOperation({ auth, body, errors }: Operation): ErrorCode[] {
  const common = [...(auth === 'none' ? [] : KEYED), ...(body === undefined ? [] : BODY)];
  return [...new Set<ErrorCode>([...common, ...errors, 'internal'])];
}
