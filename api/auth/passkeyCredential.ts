import { isRecord } from '../../schemas/isRecord.ts';

/** A response of an authenticator (Web Authentication, section 5.1), as a script has encoded it in JSON. */
export type Credential = Record<string, unknown> & { id: string; response: Record<string, unknown> };

/** Reads the JSON of `PublicKeyCredential.toJSON()`; null if it is malformed. better-auth verifies it. */
export function parseCredential(text: string): Credential | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value)) return null;
  const { id, response } = value;
  return typeof id === 'string' && isRecord(response) ? { ...value, id, response } : null;
}

/** CBOR of an attestation object without a statement, up to the length of the authenticator data (two bytes). */
const UNATTESTED = Buffer.concat([
  Buffer.from([0xa3, 0x63]),
  Buffer.from('fmt'),
  Buffer.from([0x64]),
  Buffer.from('none'),
  Buffer.from([0x67]),
  Buffer.from('attStmt'),
  Buffer.from([0xa0, 0x68]),
  Buffer.from('authData'),
  Buffer.from([0x59]),
]);

/**
 * Replaces the attestation of a new passkey by one without a statement, which is what the options ask for. A client could
 * send a statement nevertheless, with certificates that make the verifier fetch revocation lists from any address.
 *
 * @returns null if the authenticator data is missing
 */
export function withoutAttestation(credential: Credential): Credential | null {
  const { authenticatorData } = credential.response;
  if (typeof authenticatorData !== 'string') return null;
  const data = Buffer.from(authenticatorData, 'base64url');
  const length = Buffer.alloc(2);
  if (data.length > 0xffff) return null;
  length.writeUInt16BE(data.length);
  const attestationObject = Buffer.concat([UNATTESTED, length, data]).toString('base64url');
  return { ...credential, response: { ...credential.response, attestationObject } };
}
