/** An automatic retry that is about to happen. */
export interface Retry {
  /** Number of the attempt that failed, from 1. */
  attempt: number;
  /** Milliseconds until the next attempt. */
  delayMs: number;
  /** Why the attempt failed. */
  error: Error;
}

export interface ClientOptions {
  /**
   * API key. Tools need one of scope `tools`, the Account API one of scope `account`. Default: the environment variable
   * `UTILITY_TOOLS_API_KEY`, for the Account API `UTILITY_TOOLS_ACCOUNT_KEY`.
   */
  apiKey?: string | undefined;
  /**
   * URL of the service. Default: the environment variable `UTILITY_TOOLS_URL`, or else http://127.0.0.1:8080, where `npm start`
   * listens.
   */
  baseUrl?: string | undefined;
  /** Maximum number of retries of a request. Default: 4. */
  maxRetries?: number | undefined;
  /** Milliseconds before the first retry, doubled each time, unless the service sends Retry-After. Default: 500. */
  retryDelayMs?: number | undefined;
  /** Milliseconds for a call with all its retries. Default: 300 000. */
  timeoutMs?: number | undefined;
  /** Called before each retry. */
  onRetry?: ((retry: Retry) => void) | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

export interface RequestOptions {
  /** Stops waiting for the response; the promise rejects with an `AbortedError`. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for this call with all its retries. Default: that of the client. */
  timeoutMs?: number | undefined;
}

export interface CallOptions extends RequestOptions {
  /** Rejects the call, before anything runs, if its price exceeds this number of credits. */
  maxCredits?: number | undefined;
  /**
   * Key under which the service stores the result for 24 hours: repeating the call with it returns the same result and
   * costs nothing. Default: a new key for each call. With a key, a call that you abort continues and is charged.
   *
   * `null` sends no key: aborting cancels the call and returns its price, but a lost connection is not retried.
   */
  idempotencyKey?: string | null | undefined;
}

/** A request to the Account API. */
export interface AccountRequest {
  method: string;
  path: string;
  /** Parameters of the URL; undefined ones are left out. */
  query?: object;
  body?: object;
}
