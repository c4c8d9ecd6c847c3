import type { ErrorCode } from '../../schemas/errors.ts';

/** For each error code, what a program that speaks HTTP can do about the error; shown in the API reference. */
export const REMEDIES: Record<ErrorCode, string> = {
  malformed_json: 'Send one JSON object in UTF-8. Arrays, bare values and empty bodies are rejected.',
  invalid_header: 'Correct the header named in "detail".',
  missing_api_key:
    'Send it as "Authorization: Bearer <API key>". If you have no key, create one in the dashboard.',
  invalid_api_key:
    'Check that the key is complete. If you no longer have it, create a new key in the dashboard.',
  insufficient_credits:
    'Buy credits in the dashboard. "available" is the number of credits that can be spent, "cost" the price of the call. Credits reserved for running calls cannot be spent.',
  price_above_max: 'Raise or omit X-Max-Credits. The price is in X-Credits-Cost and in GET /api/v1/tools.',
  key_budget_exceeded:
    'Wait until "budget.resetsAt", use another key, or raise the budget of the key in the dashboard. "budget" states the period, its credits and how many the key has spent; running calls count.',
  tool_not_allowed: 'Use a key that permits this tool or all tools.',
  insufficient_scope:
    'Tools require a key with the scope "tools", the Account API a key with the scope "account". No key has both scopes.',
  network_not_allowed:
    'Send the request from an allowed network, or change the allowed networks of the key in the dashboard.',
  account_suspended:
    'The dashboard shows the reason. Buy credits to cover a shortfall; a suspension by the operator lasts until the operator lifts it.',
  unknown_tool: 'Check the name after /api/v1/tools/.',
  not_found: 'Check the path and the id. What belongs to other accounts is reported as not found.',
  method_not_allowed: 'Use a method listed in the Allow header. Tools are called with POST.',
  idempotency_key_used: 'Use a new Idempotency-Key.',
  cancelled:
    'The owner of the account cancelled the call in the dashboard. Send it again if you still need the result.',
  key_inactive: 'Create a new key. Revoked and expired keys cannot be changed or restored.',
  endpoint_disabled: 'Repair the receiver, then enable the webhook endpoint again.',
  not_finished: 'Get the state of the job with "?wait=30" until it is neither "queued" nor "running".',
  limit_reached:
    'Revoke an API key, delete a webhook endpoint, a file or a schedule, or wait until jobs or batches have ended. "detail" names the limit.',
  rotation_pending:
    'Wait until the overlap of the two secrets has ended, or set "force" to discard the new secret and create another one now. The new secret of a webhook endpoint can also be activated.',
  body_too_large: 'Send a smaller body. "detail" states the limit in bytes.',
  unsupported_media_type: 'Send Content-Type: application/json and no Content-Encoding.',
  invalid_input:
    'Correct the faults in "errors". "pointer" is the position of a fault in the request body. At most 20 faults, or 100 bad rows of a batch, are listed; "moreErrors" counts the others.',
  idempotency_key_mismatch:
    'Use a new Idempotency-Key for each new request. To retry a request, repeat it unchanged.',
  target_refused:
    'Use a public host and a common port. Private, loopback and link-local addresses are refused, even if a host name resolves to them or a redirect leads to them.',
  host_not_found:
    'Check the spelling of the host name. It does not exist in the public DNS, or has no IP address there.',
  source_too_large: 'Use a smaller file or page. The description of the tool states the limits.',
  unsupported_source:
    'Use a supported file type. The type is detected from the content, not from the file name.',
  corrupt_source: 'Check that the file is complete and opens in another program.',
  output_too_large: 'Use a smaller source file, or request a smaller size, factor or quality.',
  rate_limited:
    'Wait the number of seconds in Retry-After. RateLimit and RateLimit-Policy state your quota. At most 64 calls of an account run at the same time in each pool, which the page of the tool names.',
  internal:
    'Retry with the same Idempotency-Key. The log of the service has the cause under the requestId, for its operator.',
  target_failed: 'Check the target from another machine. "detail" states what failed.',
  pool_busy: 'Retry after the number of seconds in Retry-After.',
  tool_unavailable:
    'Retry after the number of seconds in Retry-After. If "detail" names a missing program, the operator of the service has to install it.',
  feed_unavailable: 'Retry after the number of seconds in Retry-After.',
  target_timeout: 'Retry later, or raise the timeout if the tool has such a field.',
  deadline_exceeded: 'Retry, or request less work per call.',
};

/** Advice without names of headers and of members of the response, where that above has them. */
const IN_WORDS: Partial<Record<ErrorCode, string>> = {
  missing_api_key: 'Create a key in the dashboard if you have none.',
  invalid_header: 'Correct the value that the message names.',
  insufficient_credits: 'Buy credits in the dashboard. Credits reserved for running calls cannot be spent.',
  price_above_max: 'Allow more credits for the call, or set no maximum.',
  key_budget_exceeded:
    'Raise the budget of the key in the dashboard, use another key, or wait for the next day or month (UTC). Running calls count in the budget.',
  unknown_tool: 'Check the name of the tool.',
  method_not_allowed: 'Tools are called with POST.',
  unsupported_media_type: 'Send the input as JSON.',
  idempotency_key_used: 'Use a new idempotency key.',
  not_finished: 'Wait until the job has ended, then get its result.',
  limit_reached: 'Revoke an API key, delete a webhook endpoint or a file, or wait until jobs have ended.',
  rotation_pending:
    'Wait until the overlap of the two secrets has ended, or force the rotation, which discards the new secret and creates another one now. The new secret of a webhook endpoint can also be activated.',
  body_too_large: 'Send a smaller input.',
  invalid_input: 'Correct these fields.',
  idempotency_key_mismatch:
    'Use a new idempotency key for each new call. To repeat a call, leave its input unchanged.',
  rate_limited: 'Wait a few seconds and send fewer requests at the same time.',
  internal:
    'Repeat the call. The log of the service has the cause under the id of the request, for its operator.',
  target_failed: 'Check the target from another machine.',
  pool_busy: 'Repeat the call in a few seconds.',
  tool_unavailable:
    'Repeat the call in some minutes. If the message names a missing program, the operator of the service has to install it.',
  feed_unavailable: 'Repeat the call in a minute.',
};

/** Returns the remedy of an error for people, agents and clients, in words without names of headers. */
export const remedyInWords = (code: ErrorCode): string => IN_WORDS[code] ?? REMEDIES[code];
