/** How long a result can answer later calls, in hours. */
export const MAX_AGE_HOURS = 72;

/** Input field of tools whose results can answer later calls with the same input. */
export const maxAge = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_AGE_HOURS * 3600,
  description:
    'Accepts an earlier result of at most this age in seconds, at no cost. If an earlier call of the account with `maxAge` and ' +
    'otherwise the same input has given such a result, the response is that result; the headers `Age` and ' +
    '`X-Result-From` then say so. The result of this call is kept, encrypted, for as many seconds. Without it, the tool always runs, and its ' +
    'result is not kept for later calls.',
} as const;
