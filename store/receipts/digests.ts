import { createHmac, webcrypto } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { CallDigests } from '../accounts/accountDocs.ts';
import { INLINE_BYTES } from '../calls/results.ts';
import type { DigestKeys } from './digestKeys.ts';

const { subtle } = webcrypto;

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
