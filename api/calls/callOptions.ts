const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;
/** Describes the format of an idempotency key, for error texts. */
export const IDEMPOTENCY_KEY_RULE = 'must be 1 to 255 visible ASCII characters';

/** Whether the value is a valid idempotency key. */
export const isIdempotencyKey = (value: unknown): value is string =>
  typeof value === 'string' && IDEMPOTENCY_KEY.test(value);
