import type { ErrorCode } from '../../schemas/errors.ts';

/** What a caller can do about each error, for the reference. */
export const REMEDIES: Record<ErrorCode, string> = {
  malformed_json: 'Send one JSON object, in UTF-8. A list, a bare value and an empty body are refused too.',
  invalid_header: 'Correct the header that "detail" names.',
  missing_api_key: 'Add the header Authorization: Bearer <API_KEY>. Keys are made in the dashboard.',
  invalid_api_key: 'Check that the whole key was copied; make a new one in the dashboard when it is lost.',
  insufficient_credits:
    'Add credits in the dashboard. "available" says what can be spent, "cost" what the call costs; credits that running calls hold cannot be spent.',
  price_above_max:
    'Raise X-Max-Credits or leave it out. The price is in X-Credits-Cost and in the catalogue.',
  tool_not_allowed: 'Use a key that is allowed this tool, or one for all tools.',
  insufficient_scope:
    'Tools want a key with the scope "tools", the Account API one with the scope "account"; no key has both.',
  account_suspended: 'Credits were taken back that had been spent already. Add credits to settle them.',
  unknown_tool: 'Check the name after /api/v1/tools/.',
  not_found: 'Check the path and the id. What belongs to another account is not found either.',
  method_not_allowed: 'Use a method of the Allow header. Tools take POST.',
  idempotency_key_used:
    'Use a fresh key. Tools that take passwords keep nothing to replay, so there the first answer is the only one.',
  endpoint_disabled: 'Enable the webhook endpoint first, once its receiver works again.',
  limit_reached: 'Revoke or delete one that is no longer needed.',
  rotation_pending: 'Activate the new secret, wait until it is 24 hours old, or rotate with "force".',
  body_too_large: 'Send less: "detail" names the limit in bytes.',
  unsupported_media_type: 'Send Content-Type: application/json, and no Content-Encoding.',
  invalid_input:
    'Correct what "errors" lists. It names every fault at once, each with the place in your input.',
  idempotency_key_mismatch: 'Use a fresh key for each new request; repeat a request only as it was.',
  target_refused:
    'Name a public host on an ordinary port. Private, loopback and link-local addresses are refused, also behind a name or a redirect.',
  host_not_found: 'Check the spelling; the name has no record in the public DNS.',
  source_too_large: 'Use a smaller file; the tool’s description has the limits.',
  unsupported_source: 'Use a type the tool takes. Its bytes count, not its name.',
  corrupt_source: 'Check that the file opens elsewhere and is complete.',
  output_too_large: 'Ask for less: a smaller size or factor, a lower quality.',
  rate_limited:
    'Wait as Retry-After says. RateLimit and RateLimit-Policy say how many calls you have; no more than 64 may run at once in one kind of worker.',
  internal: 'Try again with the same Idempotency-Key. If it stays, tell us the requestId.',
  target_failed: 'Check the target from elsewhere; what it did wrong is in "detail".',
  pool_busy: 'Try again after Retry-After.',
  tool_unavailable:
    'Try again after Retry-After. If "detail" names a missing program, tell the operator of this installation.',
  feed_unavailable: 'Try again after Retry-After.',
  target_timeout: 'Try again when the target is faster, or raise the tool’s time-out where it has one.',
  deadline_exceeded: 'Try again, or ask for less work at once.',
};
