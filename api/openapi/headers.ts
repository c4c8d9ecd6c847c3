type Json = Record<string, unknown>;

const text = (description: string): Json => ({ description, schema: { type: 'string' } });
const count = (description: string): Json => ({ description, schema: { type: 'integer', minimum: 0 } });

/** Response headers, for `components.headers`. */
export const HEADERS: Json = {
  'X-Request-Id': text('Id of the request, by which the dashboard and the log of the service find the call.'),
  'X-Credits-Cost': count('Price of the call.'),
  'X-Credits-Charged': count(
    'Credits charged: 0 for a call that failed, was replayed, or returned the result of an earlier call.',
  ),
  'X-Credits-Remaining': count('Credits available for further calls.'),
  'RateLimit-Policy': text(
    'Request quota and window: `"account";q=40;w=2` means 40 requests in 2 seconds. Absent if limits are off.',
  ),
  RateLimit: text(
    'Remaining quota: `"account";r=39;t=1` means 39 requests now, and the full quota again in 1 second.',
  ),
  'Idempotent-Replayed': {
    description: 'Present if the response is a replay of an earlier call with this Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
  Age: count('Present if the result is that of an earlier call, because of `maxAge`: its age in seconds.'),
  'X-Result-From': text('Id of that call.'),
  'Retry-After': count('Seconds to wait before a retry.'),
  'WWW-Authenticate': text(
    'With 401 `Bearer`. With `insufficient_credits` a challenge of the scheme `Payment`, if the owner permits programs to buy credits.',
  ),
  'Payment-Receipt': text(
    'Present if the request has paid for credits: the receipt of the scheme `Payment`, JSON in base64url.',
  ),
};

/** Headers of every response. */
export const COMMON_HEADERS = ['X-Request-Id'] as const;
/** Headers of a tool's responses, errors included, once the key is known. */
export const TOOL_HEADERS = [
  ...COMMON_HEADERS,
  'X-Credits-Cost',
  'X-Credits-Charged',
  'X-Credits-Remaining',
  'RateLimit-Policy',
  'RateLimit',
] as const;

/** Request headers of a tool call, for `components.parameters`. */
export const PARAMETERS: Json = {
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'Makes retries safe. Within 24 hours, a second request of the account with the same key, tool and body receives ' +
      'the response of the first and is not charged. The call also continues if the client disconnects. Another tool or ' +
      'body with the same key fails with `idempotency_key_mismatch`. Tools with secret fields never replay: a second ' +
      'request with the key fails with `idempotency_key_used`.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
  MaxCredits: {
    name: 'X-Max-Credits',
    in: 'header',
    description: 'Rejects the call, before anything runs, if its price exceeds this number of credits.',
    schema: { type: 'integer', minimum: 0, maximum: 999_999_999_999_999 },
  },
};

/** Media type object of a file. OpenAPI 3.1 needs no schema here, but code generators do. */
export const BINARY = { schema: { type: 'string', format: 'binary' } } as const;

/** Media type object of a type that an operation returns in place of JSON. */
export const mediaOf = (type: string): { schema: { type: 'string'; format?: 'binary' } } =>
  type.startsWith('text/') ? { schema: { type: 'string' } } : BINARY;

/** References to `components.headers`. */
export const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
