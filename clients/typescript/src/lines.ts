import { AbortedError, ApiError, ConnectionError } from './errors.ts';
import { errorOf } from './response.ts';
import { mayRetry, retryDelay } from './retries.ts';
import { ATTEMPT_MS, type Connection, reasonOf, wait } from './transport.ts';

/** Splits UTF-8 at line feeds. JSON may contain other characters that end lines elsewhere. @returns what follows the last line feed */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, string, undefined> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  for await (const chunk of chunks) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n');
    parts.push(first);
    for (const part of others) {
      yield parts.join('');
      parts = [part];
    }
  }
  return parts.join('') + decoder.decode();
}

const PASS = new AbortController().signal;

/** Yields the lines of one response as they arrive. @throws ApiError, ConnectionError */
async function* attempt(
  { baseUrl, authorization, send }: Connection,
  path: string,
  accept: string,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Waits for the service, for a limited time. The time that the caller takes for a line does not count. */
  async function next<T>(step: Promise<T>): Promise<T> {
    timer = setTimeout(() => silence.abort(new Error(`no data for ${ATTEMPT_MS} ms`)), ATTEMPT_MS);
    try {
      return await step;
    } finally {
      clearTimeout(timer);
    }
  }
  async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await next(reader.read());
      if (done) return;
      yield value;
    }
  }
  try {
    const response = await next(
      send(`${baseUrl}${path}`, {
        headers: { Accept: accept, Authorization: authorization },
        redirect: 'manual',
        signal: AbortSignal.any([signal, silence.signal]),
      }),
    );
    const { status, headers, body, ok } = response;
    if (!ok || body === null || !headers.get('Content-Type')?.startsWith(accept)) {
      const reply = { status, headers, body: await next(response.text()) };
      throw errorOf(reply, { isTool: false, idempotencyKey: null });
    }
    if ((yield* linesOf(chunksOf(body))) !== '') throw new Error('the response ended within a line');
  } catch (error) {
    if (error instanceof ApiError || error instanceof ConnectionError) throw error;
    throw new ConnectionError(`No complete response from ${baseUrl}: ${reasonOf(error)}.`, { cause: error });
  } finally {
    // Ends a response that is not read to its end.
    silence.abort();
  }
}

/** A request whose response is read line by line. */
export interface LineRequest {
  /** Path with query that continues the response after the lines that were yielded. */
  path(): string;
  accept: string;
  signal?: AbortSignal | undefined;
}

/** Yields the lines of a response as they arrive. Continues it when the connection is lost. */
export type LineTransport = (request: LineRequest) => AsyncGenerator<string, void, undefined>;

/** Creates the transport of responses of many lines. @throws UtilityToolsError from the generator */
export function createLines(connection: Connection): LineTransport {
  const { maxRetries, retryDelayMs } = connection;
  return async function* ({ path, accept, signal = PASS }) {
    // Attempts since the last line that arrived.
    let attempts = 0;
    try {
      for (;;) {
        signal.throwIfAborted();
        try {
          for await (const line of attempt(connection, path(), accept, signal)) {
            attempts = 0;
            yield line;
          }
          return;
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error;
          attempts += 1;
          if (attempts > maxRetries || !mayRetry(error, { always: true, keyIsFreed: false }, false))
            throw error;
          await wait(retryDelay(attempts, retryDelayMs, error.retryAfterMs), signal);
        }
      }
    } catch (error) {
      if (!signal.aborted || error !== signal.reason) throw error;
      throw new AbortedError('The request was aborted.', { cause: error });
    }
  };
}
