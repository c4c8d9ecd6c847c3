import { createHmac, randomBytes } from 'node:crypto';

/** Number of random bytes in a secret; Standard Webhooks requires 24 to 64. */
const SECRET_BYTES = 32;
const PREFIX = 'whsec_';

/** Generates a signing secret in the form that owners see: `whsec_` followed by 32 random bytes in base64. */
export const generateSigningSecret = (): string => `${PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;

/**
 * The secrets that sign a delivery. `own` makes the signature in `X-Service-Signature`, each of `all` one in
 * `webhook-signature`.
 */
export interface SigningSecrets {
  own: string;
  all: readonly string[];
}

/** The contents of a delivery that the signatures cover. */
interface SignedMessage {
  /** Id of the event. */
  id: string;
  event: string;
  /** The exact request body. */
  body: string;
  /** Unix time in seconds. */
  timestamp: number;
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text);

/**
 * Creates the headers of a delivery. The key of `X-Service-Signature` is the whole secret including its prefix. The key of
 * `webhook-signature`, which signs `id.timestamp.body`, is the decoded base64 part (Standard Webhooks 1.0, scheme `v1`).
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
