/** Consecutive failed attempts that disable an endpoint; from the specification. Workflows bundle this file. */
export const MAX_FAILURES = 20;
