import { AbortedError, ApiError, ConnectionError, TimeoutError } from './errors.ts';
import type { ClientOptions, RequestOptions } from './options.ts';
import { errorOf, isComplete, type Reply } from './response.ts';
import { mayRetry, type Repeatable, retryDelay } from './retries.ts';

const DEFAULTS = {
  baseUrl: 'http://127.0.0.1:8080',
  maxRetries: 4,
  retryDelayMs: 500,
  timeoutMs: 300_000,
} as const;
/** The service ends every call within 100 s; an attempt that takes longer has lost its connection. */
export const ATTEMPT_MS = 110_000;
/** Visible ASCII: anything else cannot be sent, and `fetch` would quote the key in its error. */
const VISIBLE = /^[\x21-\x7e]+$/;

/** A request, and the information that decides whether it may be repeated. */
export interface TransportRequest extends Repeatable {
  method: string;
  /** Path with query. */
  path: string;
  headers: Record<string, string>;
  body?: string | FormData | Blob;
  /** Media type of a success. Default: JSON. */
  accept?: string;
  isTool: boolean;
  idempotencyKey: string | null;
}

/** A successful response and the number of attempts that it took. */
export interface Success extends Reply {
  attempts: number;
}

/** Sends a request and repeats it if that is safe. */
export type Transport = (request: TransportRequest, options?: RequestOptions) => Promise<Success>;

/** Resolves after `ms`, or rejects when the signal is aborted. */
export function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Returns a variable of the environment; undefined in browsers, which have none. */
function readVariable(name: string): string | undefined {
  const scope: object = globalThis;
  if (!('process' in scope && isObject(scope.process) && 'env' in scope.process)) return undefined;
  const { env } = scope.process;
  const value: unknown = isObject(env) ? Reflect.get(env, name) : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** @param variable environment variable that holds the key if it is not passed */
function checkedKey(apiKey: string | undefined, variable: string): string {
  const key = (apiKey ?? readVariable(variable))?.trim() ?? '';
  if (key === '')
    throw new TypeError(
      `The API key is missing. Create one in the dashboard of the service, then set ${variable} or pass it as \`apiKey\`.`,
    );
  if (!VISIBLE.test(key))
    throw new TypeError(
      'The API key contains characters that are not valid in a key. Copy it again from the dashboard.',
    );
  return key;
}

function checkedUrl(baseUrl: string): string {
  if (!URL.canParse(baseUrl) || !/^https?:/.test(baseUrl))
    throw new TypeError(`The base URL ${JSON.stringify(baseUrl)} is not an http or https URL.`);
  return baseUrl.replace(/\/+$/, '');
}

/** Reason of a failed `fetch`. The `cause` of its error describes the connection error. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || ('code' in cause ? String(cause.code) : cause.name);
}

/** The service, the key with which it is called, and how often requests are repeated. */
export interface Connection {
  baseUrl: string;
  authorization: string;
  maxRetries: number;
  retryDelayMs: number;
  send: typeof globalThis.fetch;
}

/**
 * Checks the options of a client.
 *
 * @param keyVariable environment variable that holds the key if it is not passed
 * @throws TypeError if the key or the URL is not valid
 */
export const connectionOf = (options: ClientOptions, keyVariable: string): Connection => ({
  authorization: `Bearer ${checkedKey(options.apiKey, keyVariable)}`,
  baseUrl: checkedUrl(options.baseUrl ?? (readVariable('UTILITY_TOOLS_URL') || DEFAULTS.baseUrl)),
  maxRetries: options.maxRetries ?? DEFAULTS.maxRetries,
  retryDelayMs: options.retryDelayMs ?? DEFAULTS.retryDelayMs,
  send: options.fetch ?? globalThis.fetch.bind(globalThis),
});

/**
 * Creates the transport of a client.
 *
 * @param keyVariable environment variable that holds the key if it is not passed
 * @throws TypeError if the key or the URL is not valid
 */
export function createTransport(options: ClientOptions, keyVariable: string): Transport {
  const { authorization, baseUrl, maxRetries, retryDelayMs, send } = connectionOf(options, keyVariable);
  const { onRetry } = options;

  /** Sends the request once. @throws ApiError, ConnectionError */
  async function attempt(request: TransportRequest, outer: AbortSignal): Promise<Reply> {
    const { method, path, body, accept = 'application/json', idempotencyKey } = request;
    try {
      const response = await send(`${baseUrl}${path}`, {
        method,
        headers: { ...request.headers, Accept: accept, Authorization: authorization },
        ...(body === undefined ? {} : { body }),
        // A redirect would carry the input, and its secrets, to another server.
        redirect: 'manual',
        signal: AbortSignal.any([outer, AbortSignal.timeout(ATTEMPT_MS)]),
      });
      const reply = { status: response.status, headers: response.headers, body: await response.text() };
      if (response.ok && isComplete(reply, accept)) return reply;
      throw errorOf(reply, request);
    } catch (error) {
      if (error instanceof ApiError || error instanceof ConnectionError) throw error;
      outer.throwIfAborted();
      throw new ConnectionError(`No response from ${baseUrl}: ${reasonOf(error)}.`, {
        cause: error,
        idempotencyKey,
      });
    }
  }

  /** The error for the caller, once no attempt is left. */
  function final(
    error: ApiError | ConnectionError,
    { always, isTool, idempotencyKey }: TransportRequest,
  ): Error {
    if (error instanceof ApiError || error.status !== null) return error;
    const advice = !isTool
      ? always
        ? 'Check the base URL and your network, then repeat the request.'
        : 'The request may have taken effect. Check before you repeat it.'
      : idempotencyKey === null
        ? 'Check the base URL and your network. If the call ran, its price is returned within a minute.'
        : 'Check the base URL and your network. The call may have run; repeat it with the `idempotencyKey` of this error ' +
          'to get its result without a second charge.';
    return new ConnectionError(`${error.message} ${advice}`, { cause: error.cause, idempotencyKey });
  }

  return async (request, { signal, timeoutMs = options.timeoutMs ?? DEFAULTS.timeoutMs } = {}) => {
    const { idempotencyKey } = request;
    const deadline = AbortSignal.timeout(timeoutMs);
    const endsAt = Date.now() + timeoutMs;
    const outer = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
    let isUncertain = false;
    try {
      for (let attempts = 1; ; attempts++) {
        outer.throwIfAborted();
        try {
          return { ...(await attempt(request, outer)), attempts };
        } catch (error) {
          if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error;
          if (attempts > maxRetries || !mayRetry(error, request, isUncertain)) throw final(error, request);
          isUncertain ||= error instanceof ConnectionError;
          const delayMs = retryDelay(attempts, retryDelayMs, error.retryAfterMs);
          if (Date.now() + delayMs >= endsAt) throw final(error, request);
          onRetry?.({ attempt: attempts, delayMs, error });
          await wait(delayMs, outer);
        }
      }
    } catch (error) {
      const kept =
        idempotencyKey === null
          ? ''
          : ' If it was running, it continues: repeat it with the `idempotencyKey` of this error to get its result without a second charge.';
      if (signal?.aborted && error === signal.reason)
        throw new AbortedError(`The call was aborted.${kept}`, { cause: error, idempotencyKey });
      if (deadline.aborted && error === deadline.reason)
        throw new TimeoutError(`The call was not finished within ${timeoutMs} ms.${kept}`, {
          cause: error,
          idempotencyKey,
        });
      throw error;
    }
  };
}
