/**
 * The entries of the error table (`errors.ts`) with which a workflow ends a call, and texts that the API and a workflow both
 * use. This file has no imports, because the workflow bundle includes it.
 */
export const CALL_ERRORS = {
  cancelled: {
    status: 409,
    title: 'Call cancelled',
    detail: 'The call was cancelled. Nothing was charged.',
  },
  internal: { status: 500, title: 'Internal error', detail: 'An internal error occurred. It was logged.' },
  pool_busy: {
    status: 503,
    title: 'Pool busy',
    detail: 'No worker was free in time. Nothing ran and nothing was charged.',
    retryAfter: 5,
  },
  deadline_exceeded: {
    status: 504,
    title: 'Deadline exceeded',
    detail: 'The call exceeded its time limit. Nothing was charged.',
  },
} as const;

/** `1 credit`, `2 credits`. */
export const creditsOf = (amount: number): string => (amount === 1 ? '1 credit' : `${amount} credits`);

/** The detail of the error `insufficient_credits`. */
export const describeShortage = (price: number, available: number): string =>
  `This call costs ${creditsOf(price)}; ${available} are available.`;

/** A reservation that the ledger refused, as `ReserveResult` describes it. */
type RefusedReservation<Budget> =
  | { status: 'insufficient' | 'busy' | 'suspended'; available: number }
  | { status: 'over_budget'; budget: Budget; detail: string }
  | { status: 'closed'; code: string | null };

/** Returns the error of a call whose price in credits could not be reserved. */
export function reservationError<Budget>(held: RefusedReservation<Budget>, price: number) {
  switch (held.status) {
    case 'insufficient': {
      const { available } = held;
      return {
        code: 'insufficient_credits',
        detail: describeShortage(price, available),
        members: { available, cost: price },
        retryAfter: null,
      };
    }
    case 'busy':
      return {
        code: 'rate_limited',
        detail: 'Too many calls of this account run at once.',
        members: {},
        retryAfter: 1,
      };
    case 'over_budget':
      return {
        code: 'key_budget_exceeded',
        detail: held.detail,
        members: { cost: price, budget: held.budget },
        retryAfter: null,
      };
    case 'suspended':
      return {
        code: 'account_suspended',
        detail:
          'The account is suspended because credits to be deducted had already been spent. New credits must cover them first.',
        members: {},
        retryAfter: null,
      };
    case 'closed':
      return {
        code: held.code ?? 'internal',
        detail: 'The call ended before it started. Nothing was charged.',
        members: {},
        retryAfter: null,
      };
  }
}
