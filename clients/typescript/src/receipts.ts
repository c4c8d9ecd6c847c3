import { UtilityToolsError } from './errors.ts';
import { parseJson } from './response.ts';

/** The content of a receipt. The page `/docs/receipts` of the service explains the fields. */
export interface Receipt {
  /** URL of the service. */
  iss: string;
  /** When the receipt was signed: Unix time in seconds. */
  iat: number;
  /** Id of the account. */
  sub: string;
  callId: string;
  requestId: string;
  tool: string;
  /** Credits charged. */
  credits: number;
  /** ISO 8601. */
  acceptedAt: string;
  chargedAt: string;
  /** HMAC-SHA-256 in base64url; null for calls from before receipts existed. */
  inputDigest: string | null;
  outputDigest: string | null;
}

/** A public key for signatures with Ed25519 (RFC 8037). */
export type ReceiptKey = Record<'kty' | 'crv' | 'x', string>;

const decode = (part: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));

async function isSignedBy({ kty, crv, x }: ReceiptKey, receipt: string): Promise<boolean> {
  const end = receipt.lastIndexOf('.');
  const key = await crypto.subtle.importKey('jwk', { kty, crv, x }, 'Ed25519', false, ['verify']);
  const signed = new TextEncoder().encode(receipt.slice(0, end));
  return crypto.subtle.verify('Ed25519', key, decode(receipt.slice(end + 1)), signed);
}

const isReceipt = (value: unknown): value is Receipt =>
  typeof value === 'object' && value !== null && 'callId' in value && 'credits' in value;

/**
 * Verifies the signature of a receipt (a JWS in compact serialization), and returns what it says.
 *
 * @param keys those that the service publishes
 * @throws UtilityToolsError if none of them has signed the receipt
 */
export async function openReceipt(receipt: string, keys: readonly ReceiptKey[]): Promise<Receipt> {
  const usable = keys.filter(({ crv }) => crv === 'Ed25519');
  const isGenuine = await Promise.all(usable.map((key) => isSignedBy(key, receipt))).then(
    (results) => results.includes(true),
    // It is not base64.
    () => false,
  );
  const payload = isGenuine ? new TextDecoder().decode(decode(receipt.split('.')[1] ?? '')) : '';
  const content = parseJson(payload);
  if (!isReceipt(content))
    throw new UtilityToolsError(
      'The receipt is not genuine: no key that the service publishes has signed it. If the service has revoked the key, request ' +
        'the receipt again.',
    );
  return content;
}
