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
