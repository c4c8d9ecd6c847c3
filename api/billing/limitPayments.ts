import { ServiceError } from '../../schemas/errors.ts';
import type { Limits } from '../limits.ts';

/** Checkouts and payments per account, because Stripe limits the requests of all accounts together. */
const PAYMENTS = { rate: 10 / 60, burst: 10 };

/** Counts a checkout or a payment of an account. @throws ServiceError rate_limited above the limit */
export async function limitPayments(
  { takeToken }: Pick<Limits, 'takeToken'>,
  accountId: string,
): Promise<void> {
  const taken = await takeToken?.(`checkout:${accountId}`, PAYMENTS);
  if (taken?.allowed === false)
    throw new ServiceError('rate_limited', {
      detail: 'At most 10 checkouts and payments per minute. Try again later.',
      retryAfter: taken.retryAfterSeconds,
    });
}
