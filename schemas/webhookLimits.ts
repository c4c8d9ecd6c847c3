/**
 * Number of consecutive failed attempts that disables an endpoint; given by the specification. This file has no
 * imports, because the workflow bundle includes it.
 */
export const MAX_FAILURES = 20;
