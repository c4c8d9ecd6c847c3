import { ServiceError } from '../../schemas/errors.ts';
import type { Context } from '../http/context.ts';
import { IDEMPOTENCY_KEY_RULE, isIdempotencyKey } from './toolCall.ts';

/** Reads the Idempotency-Key of a request; null if it has none. @throws ServiceError invalid_header */
export function idempotencyKey(ctx: Context): string | null {
  const key = ctx.req.headers['idempotency-key'];
  if (key === undefined) return null;
  if (!isIdempotencyKey(key))
    throw new ServiceError('invalid_header', { detail: `Idempotency-Key ${IDEMPOTENCY_KEY_RULE}.` });
  return key;
}

/** Reads X-Max-Credits; infinity if the request has none. @throws ServiceError invalid_header */
export function maxCredits(ctx: Context): number {
  const text = ctx.req.headers['x-max-credits'];
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (typeof text !== 'string' || !/^\d{1,15}$/.test(text))
    throw new ServiceError('invalid_header', { detail: 'X-Max-Credits must be a whole number of credits.' });
  return Number(text);
}
