type Json = Record<string, unknown>;

const text = (description: string): Json => ({ description, schema: { type: 'string' } });
const count = (description: string): Json => ({ description, schema: { type: 'integer', minimum: 0 } });

/** Response headers, for `components.headers`. */
export const HEADERS: Json = {
  'X-Request-Id': text('Id of this request; name it when you ask us about it.'),
  'X-Credits-Cost': count('Price of the call.'),
  'X-Credits-Charged': count('Credits charged for it: 0 when it was refused, refunded or replayed.'),
  'X-Credits-Remaining': count('Credits that can be spent now.'),
  'RateLimit-Policy': text(
    'Quota and window, as `"account";q=40;w=2`: 40 calls in 2 seconds. Left out where limits are off.',
  ),
  RateLimit: text(
    'What is left of it, as `"account";r=39;t=1`: 39 calls now, all of them again in 1 second.',
  ),
  'Idempotent-Replayed': {
    description: 'Sent when the answer is that of an earlier call with this Idempotency-Key.',
    schema: { type: 'string', const: 'true' },
  },
  'Retry-After': count('Seconds to wait before the next try.'),
  'WWW-Authenticate': text('Always `Bearer`.'),
};

/** Those that every answer carries. */
export const EVERY_ANSWER = ['X-Request-Id'] as const;
/** Those of a tool's answers, good and bad, once the key is known. */
export const TOOL_ANSWER = [
  ...EVERY_ANSWER,
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
      'Makes it safe to try again: within 24 hours a second call of the account with the same key and the same body is ' +
      'answered with the first one’s result and charged nothing. With it the call also goes on when you hang up. ' +
      'Another tool or body under the same key is `idempotency_key_mismatch`. Tools that take secrets never replay: ' +
      'there a second call with the key is `idempotency_key_used`.',
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
  MaxCredits: {
    name: 'X-Max-Credits',
    in: 'header',
    description: 'Refuses the call, before anything runs, when it costs more than this.',
    schema: { type: 'integer', minimum: 0, maximum: 999_999_999_999_999 },
  },
};

/** References to `components.headers`. */
export const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
