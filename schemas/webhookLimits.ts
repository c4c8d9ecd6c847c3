/** Failed attempts in a row that disable an endpoint (the specification's number). Workflows bundle this file as it is. */
export const MAX_FAILURES = 20;
