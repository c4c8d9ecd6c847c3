import { createHmac, hkdfSync, type JsonWebKey } from 'node:crypto';

/**
 * The keys of the digests of a call's input and output (HMAC-SHA-256), in base64url. Without them, a digest tells nothing,
 * even if only few contents are possible. They are not stored: they derive from a receipt key and the id of the call.
 */
export interface DigestKeys {
  /** Number of the receipt key. */
  number: number;
  input: string;
  output: string;
}

/** Derives the secret of digests from the private key of a receipt key, so that no further secret is stored. */
export const digestSecret = ({ d = '' }: JsonWebKey): Buffer =>
  Buffer.from(hkdfSync('sha256', Buffer.from(d, 'base64url'), '', 'utility-tools/receipt-digests', 32));

/**
 * Derives the keys of a call. They differ for each call, so that equal contents have different digests, and for input and
 * output, so that the owner can prove one without the other.
 */
export function digestKeys(secret: Buffer, number: number, callId: string): DigestKeys {
  const keyOf = (what: string) =>
    createHmac('sha256', secret).update(`${what}:${callId}`).digest('base64url');
  return { number, input: keyOf('input'), output: keyOf('output') };
}
