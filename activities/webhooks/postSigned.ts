import type { Guard } from '../../egress/guard.ts';
import type { GuardedResponse } from '../../egress/response.ts';
import { activeTraceparent } from '../../platform/trace.ts';
import { ServiceError } from '../../schemas/errors.ts';
import { isLocalhost } from '../../schemas/formats/url.ts';
import { type SigningSecrets, signatureHeaders } from '../../schemas/webhookSignature.ts';
import type { DeliveryAttempts } from '../../store/webhooks/deliveryAttempts.ts';
import type { DeliveryAttemptDoc, StoredHeader } from '../../store/webhooks/webhookDocs.ts';

/** Timeout of a webhook attempt in milliseconds, from the start of the DNS lookup. */
const RESPONSE_MS = 10_000;
/** Maximum number of bytes of a response body that are stored. */
const KEPT_BYTES = 16 * 1024;
/** Maximum number of characters of all response headers that are stored. */
const KEPT_HEADERS = 8 * 1024;
/** Response headers whose values can be credentials and are therefore not stored. */
const CREDENTIALS: ReadonlySet<string> = new Set(['set-cookie', 'set-cookie2', 'authorization']);
export interface PostServices {
  egress: Guard;
  /** Whether messages to `localhost` are sent. If not, only `npm run listen` forwards them. */
  localhost: boolean;
}

/** A message to a receiver. */
export interface Message {
  /** Id of the event, the same on every attempt. */
  id: string;
  event: string;
  url: string;
  body: string;
}

/** The result of an attempt. `content`: request and response, of which a part is kept. */
export type Posted = Pick<DeliveryAttemptDoc, 'statusCode' | 'error' | 'durationMs' | 'retryAfterMs'> & {
  content: Parameters<DeliveryAttempts['record']>[1];
};

/** Reads Retry-After (RFC 9110, 10.2.3) of a 429 or 503 response, in milliseconds; null otherwise. */
function readRetryAfter(response: GuardedResponse): number | null {
  const text = response.header('retry-after');
  if (text === null || (response.status !== 429 && response.status !== 503)) return null;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, Math.round(ms)) : null;
}

function keptHeaders(headers: GuardedResponse['headers']): StoredHeader[] {
  let size = 0;
  return headers
    .map(([name, value]): StoredHeader => [name, CREDENTIALS.has(name.toLowerCase()) ? '(not kept)' : value])
    .filter(([name, value]) => {
      size += name.length + value.length;
      return size <= KEPT_HEADERS;
    });
}

/** Reads the part of a response body that is stored. If the response breaks off, returns what has been received. */
async function readBody(response: GuardedResponse): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response.body) chunks.push(chunk);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Posts a signed message once. Failures of the receiver are part of the result. @throws the signal's reason
 *
 * @param secretsAt returns the secrets that sign at this time
 */
export async function postSigned(
  { egress, localhost }: PostServices,
  { url, id, event, body }: Message,
  secretsAt: (now: Date) => SigningSecrets,
  signal: AbortSignal,
): Promise<Posted> {
  const now = new Date();
  const signed = { id, event, body, timestamp: Math.floor(now.getTime() / 1000) };
  const traceparent = activeTraceparent();
  const headers: StoredHeader[] = [
    ['Content-Type', 'application/json'],
    ['User-Agent', 'utility-tools-webhooks/1.0'],
    ['Accept-Encoding', 'identity'],
    ...(traceparent === undefined ? [] : [['traceparent', traceparent] satisfies StoredHeader]),
    ...signatureHeaders(signed, secretsAt(now)),
  ];
  // The query can be a credential of the receiver.
  const request = { url: url.replace(/[?#].*$/s, ''), requestHeaders: headers };
  const startedAt = performance.now();
  try {
    const target = egress.parseTarget(url, { kind: 'url', pointer: '/url' });
    if (!localhost && isLocalhost(url)) throw new ServiceError('target_refused');
    using response = await egress.request(target, {
      method: 'POST',
      headers,
      body,
      maxBytes: KEPT_BYTES,
      overflow: 'truncate',
      signal,
      deadline: now.getTime() + RESPONSE_MS,
    });
    const durationMs = Math.round(response.elapsedMs);
    const retryAfterMs = readRetryAfter(response);
    return {
      statusCode: response.status,
      error: null,
      durationMs,
      retryAfterMs,
      content: {
        ...request,
        responseHeaders: keptHeaders(response.headers),
        body: await readBody(response),
      },
    };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const durationMs = Math.round(performance.now() - startedAt);
    return {
      statusCode: null,
      error: `${error.code}: ${error.detail}`,
      durationMs,
      retryAfterMs: null,
      content: { ...request, responseHeaders: null, body: null },
    };
  }
}

export const isSuccess = (status: number | null): boolean => status !== null && status >= 200 && status < 300;
