import type { ErrorCode } from '../../schemas/errors.ts';

/** Instructions for callers by error code, for the reference. */
export const REMEDIES: Record<ErrorCode, string> = {
  malformed_json: 'Send one JSON object in UTF-8. Arrays, bare values and empty bodies are rejected.',
  invalid_header: 'Correct the header named in "detail".',
  missing_api_key: 'Add the header Authorization: Bearer <API_KEY>. Create keys in the dashboard.',
  invalid_api_key: 'Check that the key is complete. If it is lost, create a new one in the dashboard.',
  insufficient_credits:
    'Add credits in the dashboard. "available" is the amount that can be spent, "cost" the price of the call. Credits reserved for running calls cannot be spent.',
  price_above_max: 'Raise or omit X-Max-Credits. The price is in X-Credits-Cost and in GET /api/v1/tools.',
  tool_not_allowed: 'Use a key that permits this tool, or one for all tools.',
  insufficient_scope:
    'Tools require a key of scope "tools", the Account API a key of scope "account". No key has both.',
  account_suspended:
    'Credits that were already spent have been taken back, for example after a refunded purchase. Add credits to settle them.',
  unknown_tool: 'Check the name after /api/v1/tools/.',
  not_found: 'Check the path and the id. Resources of other accounts are reported as not found.',
  method_not_allowed: 'Use a method listed in the Allow header. Tools are called with POST.',
  idempotency_key_used:
    'Use a new key. Tools with secret fields store nothing to replay; only the first request receives the response.',
  endpoint_disabled: 'Repair the receiver, then enable the webhook endpoint.',
  limit_reached: 'Revoke or delete one that you no longer need.',
  rotation_pending: 'Activate the new secret, wait until it is 24 hours old, or rotate with "force".',
  body_too_large: 'Send a smaller body. "detail" states the limit in bytes.',
  unsupported_media_type: 'Send Content-Type: application/json and no Content-Encoding.',
  invalid_input:
    'Correct the faults in "errors". Each has its position in your input. At most 20 are listed; "moreErrors" counts the others.',
  idempotency_key_mismatch: 'Use a new key for each new request. To retry a request, repeat it unchanged.',
  target_refused:
    'Use a public host and a common port. Private, loopback and link-local addresses are refused, also behind a name or a redirect.',
  host_not_found: 'Check the spelling. The name has no record in the public DNS.',
  source_too_large: 'Use a smaller file. The description of the tool states the limits.',
  unsupported_source: 'Use a supported type. It is detected from the content, not from the file name.',
  corrupt_source: 'Check that the file is complete and opens in another program.',
  output_too_large: 'Request a smaller size or factor, or a lower quality.',
  rate_limited:
    'Retry after the number of seconds in Retry-After. RateLimit and RateLimit-Policy state your quota. At most 64 calls of an account run at the same time per pool.',
  internal:
    'Retry with the same Idempotency-Key. If the error persists, contact support and quote the requestId.',
  target_failed: 'Check the target from another machine. "detail" states what failed.',
  pool_busy: 'Retry after the number of seconds in Retry-After.',
  tool_unavailable:
    'Retry after the number of seconds in Retry-After. If "detail" names a missing program, contact the operator of this installation.',
  feed_unavailable: 'Retry after the number of seconds in Retry-After.',
  target_timeout: 'Retry later, or raise the timeout if the tool has one.',
  deadline_exceeded: 'Retry, or request less work per call.',
};
