import { createHmac, randomBytes } from 'node:crypto';

/** Standard Webhooks wants 24 to 64 bytes. */
const SECRET_BYTES = 32;
const PREFIX = 'whsec_';

/** A signing secret as its owner is shown it: `whsec_` and the base64 of 32 random bytes. */
export const generateSigningSecret = (): string => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;

/** What signs a delivery now: the secret of the service's own signature, and all that Standard Webhooks may list. */
export interface SigningSecrets {
  own: string;
  all: readonly string[];
}

/** One message, as it goes out. */
export interface SignedMessage {
  /** Id of the event. */
  id: string;
  event: string;
  /** The exact text that is posted. */
  body: string;
  /** Unix time in seconds. */
  timestamp: number;
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text);

/**
 * The headers of a delivery. `X-Service-Signature` is keyed with the whole secret as shown; `webhook-signature` with the
 * bytes that its base64 part stands for, over `id.timestamp.body` (Standard Webhooks 1.0, symmetric scheme `v1`).
 */
export function signatureHeaders(
  { id, event, body, timestamp }: SignedMessage,
  { own, all }: SigningSecrets,
): [name: string, value: string][] {
  const standard = all.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${hmac(key, `${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return [
    ['X-Service-Event', event],
    ['X-Service-Timestamp', `${timestamp}`],
    ['X-Service-Signature', `sha256=${hmac(own, `${timestamp}.${body}`).digest('hex')}`],
    ['webhook-id', id],
    ['webhook-timestamp', `${timestamp}`],
    ['webhook-signature', standard.join(' ')],
  ];
}
