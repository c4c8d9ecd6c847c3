import { createHmac, hkdfSync, type JsonWebKey, webcrypto } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { CallDigests } from '../accounts/accountDocs.ts';
import { INLINE_BYTES } from '../calls/results.ts';

const { subtle } = webcrypto;

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

/** Returns the HMAC-SHA-256 of data, in base64url. @param key in base64url */
async function digestOf(key: string, data: Buffer): Promise<string> {
  const bytes = Buffer.from(key, 'base64url');
  if (data.length <= INLINE_BYTES) return createHmac('sha256', bytes).update(data).digest('base64url');
  // On another thread, because an output of 50 MB takes tens of milliseconds.
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await subtle.importKey('raw', bytes, algorithm, false, ['sign']);
  return Buffer.from(await subtle.sign('HMAC', imported, data)).toString('base64url');
}

/**
 * Computes the digest of a call's input, for the receipt of the call. Precedes the tool, which could change the input.
 *
 * @param keys undefined: the call has no digests
 * @param input without secret fields
 * @returns the function that adds the digest of the output. It takes the output as JSON, as the caller gets it
 */
export async function startDigests(
  keys: DigestKeys | undefined,
  input: Record<string, unknown>,
): Promise<(json: Buffer) => Promise<CallDigests | undefined>> {
  if (keys === undefined) return async () => undefined;
  const ofInput = await digestOf(keys.input, Buffer.from(canonicalize(input) ?? ''));
  return async (json) => ({ key: keys.number, input: ofInput, output: await digestOf(keys.output, json) });
}
