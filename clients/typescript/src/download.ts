import { AbortedError, ApiError, ConnectionError } from './errors.ts';
import { errorOf } from './response.ts';
import { mayRetry, retryDelay } from './retries.ts';
import { ATTEMPT_MS, type Connection, reasonOf, wait } from './transport.ts';

/** Downloads a file from its address. @throws UtilityToolsError */
export type Download = (url: string, signal?: AbortSignal) => Promise<Blob>;

const PASS = new AbortController().signal;

/** What has arrived of a file. */
interface Received {
  parts: Uint8Array<ArrayBuffer>[];
  bytes: number;
  /** Version of the file; null if it is not known. */
  etag: string | null;
  type: string;
}

/** Asks for what has not arrived, if the file is still the same; else for all of it. */
const rangeOf = ({ bytes, etag }: Received): Record<string, string> =>
  etag === null || bytes === 0 ? {} : { Range: `bytes=${bytes}-`, 'If-Range': etag };

/** Adds what one response has of a file. @returns whether that was the rest @throws ApiError, ConnectionError */
async function attempt(
  { send }: Connection,
  url: string,
  received: Received,
  signal: AbortSignal,
): Promise<boolean> {
  const response = await send(url, { headers: rangeOf(received), redirect: 'manual', signal });
  const { status, headers, body } = response;
  if ((status !== 200 && status !== 206) || body === null) {
    const reply = { status, headers, body: await response.text() };
    throw errorOf(reply, { isTool: false, idempotencyKey: null });
  }
  const [, first, size] = /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get('Content-Range') ?? '') ?? [];
  if (status === 200) Object.assign(received, { parts: [], bytes: 0 });
  else if (Number(first) !== received.bytes) throw new Error('the response has another part of the file');
  const whole = Number(size ?? headers.get('Content-Length'));
  received.etag = headers.get('ETag');
  received.type = headers.get('Content-Type') ?? '';
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return received.bytes === whole;
    received.parts.push(value);
    received.bytes += value.length;
  }
}

/** Creates the download of files, which continues after a lost connection where it ended. */
export function createDownload(connection: Connection): Download {
  const { maxRetries, retryDelayMs } = connection;
  return async (url, signal = PASS) => {
    const received: Received = { parts: [], bytes: 0, etag: null, type: '' };
    // Attempts since the last bytes that arrived.
    let attempts = 0;
    for (;;) {
      const before = received.bytes;
      try {
        signal.throwIfAborted();
        const limits = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)]);
        if (await attempt(connection, url, received, limits))
          return new Blob(received.parts, { type: received.type });
        throw new Error('the response ended before the file');
      } catch (caught) {
        if (signal.aborted) throw new AbortedError('The download was aborted.', { cause: caught });
        const error =
          caught instanceof ApiError || caught instanceof ConnectionError
            ? caught
            : new ConnectionError(`The file was not downloaded: ${reasonOf(caught)}.`, { cause: caught });
        attempts = received.bytes > before ? 1 : attempts + 1;
        if (attempts > maxRetries || !mayRetry(error, { always: true, keyIsFreed: false }, false))
          throw error;
        const delay = wait(retryDelay(attempts, retryDelayMs, error.retryAfterMs), signal);
        await delay.catch((cause) => {
          throw new AbortedError('The download was aborted.', { cause });
        });
      }
    }
  };
}
