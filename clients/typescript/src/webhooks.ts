import { WebhookVerificationError } from './errors.ts';
import type { WebhookEvent } from './generated/types.ts';
import { parseJson } from './response.ts';

/** Seconds by which the time of a delivery may differ from that of the receiver. */
const TOLERANCE_S = 300;
const PREFIX = 'whsec_';
const SIGNATURES = 'webhook-signature';
/** Unix time in seconds, in as many digits as it can have. */
const TIME_DIGITS = 12;
const TIME = /^\d{1,12}$/;

/** A received delivery. */
export interface Delivery {
  /** The signing secret of the endpoint (`whsec_…`), or several during a rotation. */
  secret: string | readonly string[];
  /** The request headers: a `Headers` object, also of another library, or an object such as `request.headers` of Node.js. */
  headers: Pick<Headers, 'get'> | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The raw request body, exactly as received. */
  body: string | Uint8Array<ArrayBuffer>;
  /** Unix time in seconds. Default: now. */
  now?: number;
}

/** The class cannot tell: the packages undici and node-fetch have classes of their own. */
const isHeaders = (headers: Delivery['headers']): headers is Pick<Headers, 'get'> =>
  'get' in headers && typeof headers.get === 'function';

function headerOf(headers: Delivery['headers'], name: string): string {
  const found = isHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const values = [...new Set([found ?? []].flat())];
  // Only signatures form a list. Other headers with different values are ambiguous, and then not signed.
  const value = values.join(name === SIGNATURES ? ' ' : ', ');
  if (value === '')
    throw new WebhookVerificationError(
      `The header ${name} is missing. The request is not a delivery, or a proxy removed the header.`,
    );
  return value;
}

/** Decodes base64; null if it is not base64. */
function decode(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}

function keyOf(secret: string) {
  const bytes = secret.startsWith(PREFIX) ? decode(secret.slice(PREFIX.length)) : null;
  if (bytes === null || bytes.length === 0)
    throw new TypeError(
      'The signing secret is not valid. It begins with `whsec_` and is shown when you register an endpoint.',
    );
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

const isEvent = (value: unknown): value is WebhookEvent =>
  typeof value === 'object' && value !== null && 'event' in value && 'id' in value && 'data' in value;

function checkTime(timestamp: string, now: number): void {
  const difference = Math.abs(now - Number(timestamp));
  if (!TIME.test(timestamp) || difference >= TOLERANCE_S)
    throw new WebhookVerificationError(
      `The delivery was signed at ${timestamp.slice(0, TIME_DIGITS)}, ${TOLERANCE_S} seconds or more from the time of this machine. It may be a ` +
        'replayed request. If it is not, correct the clock of this machine.',
    );
}

/**
 * Verifies the signature and the time of a delivery (Standard Webhooks 1.0, scheme `v1`) in constant time, and returns its
 * event. Deliveries can repeat: ignore an event whose `id` you have processed.
 *
 * @throws WebhookVerificationError if the delivery is not genuine; respond with 400
 * @throws TypeError if the secret is not valid
 */
export async function verifyWebhook({
  secret,
  headers,
  body,
  now = Math.floor(Date.now() / 1000),
}: Delivery): Promise<WebhookEvent> {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', SIGNATURES].map((name) =>
    headerOf(headers, name),
  );
  checkTime(timestamp ?? '', now);
  const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  // Repeated headers are joined with a comma by some servers.
  const candidates = (signatures ?? '').split(/,? /).flatMap((it) => {
    const bytes = it.startsWith('v1,') ? decode(it.slice(3)) : null;
    return bytes === null ? [] : [bytes];
  });
  const keys = await Promise.all((typeof secret === 'string' ? [secret] : secret).map(keyOf));
  const matches = await Promise.all(
    keys.flatMap((key) =>
      candidates.map((signature) => crypto.subtle.verify('HMAC', key, signature, signed)),
    ),
  );
  if (!matches.includes(true))
    throw new WebhookVerificationError(
      'The signature does not match. Check that the secret belongs to this endpoint and that the body is exactly as received.',
    );
  const event = parseJson(text);
  if (!isEvent(event)) throw new WebhookVerificationError('The body of the delivery is not an event.');
  return event;
}
