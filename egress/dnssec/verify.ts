import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type DelegationData, type KeyData, readKey } from '../dns/keys.ts';
import { countLabels, splitName, suffixOf, toWire } from './names.ts';
import type { RecordSet, Signature } from './records.ts';

/** A key of a zone. */
export interface ZoneKey extends KeyData {
  /** The data of its record. */
  data: Buffer;
}

/** The time of a validation, and the work that it may still take. */
export interface Effort {
  /** Unix time in seconds. */
  now: number;
  /** Signatures that may still be verified. A zone can have many keys of one tag and many signatures (CVE-2023-50387). */
  verifications: number;
}

/** Maximum number of keys of a zone, and of signatures of a set, that are read. */
const MAX_KEYS = 50;
const MAX_SIGNATURES = 8;
const ZONE_KEY = 0x0100;
const REVOKED = 0x0080;
/** Hash functions of RSA algorithms, by number (IANA, "DNS Security Algorithm Numbers"). */
const RSA: Readonly<Record<number, string>> = { 5: 'sha1', 7: 'sha1', 8: 'sha256', 10: 'sha512' };
const CURVES: Readonly<Record<number, { crv: string; hash: string }>> = {
  13: { crv: 'P-256', hash: 'sha256' },
  14: { crv: 'P-384', hash: 'sha384' },
};
const EDWARDS: Readonly<Record<number, string>> = { 15: 'Ed25519', 16: 'Ed448' };
/** Digests of DS records (IANA, "DS RR Type Digest Algorithms"). */
const DIGESTS: Readonly<Record<number, string>> = { 1: 'sha1', 2: 'sha256', 4: 'sha384' };

const isSupportedAlgorithm = (algorithm: number): boolean =>
  algorithm in RSA || algorithm in CURVES || algorithm in EDWARDS;

/**
 * The DS records that can be used; a zone without one counts as unsigned (RFC 4035 section 5.2). Digests by SHA-1 are ignored beside
 * others (RFC 4509 section 3).
 */
export function usableOf(delegations: readonly DelegationData[]): readonly DelegationData[] {
  const supported = delegations.filter(
    ({ algorithm, digestType }) => isSupportedAlgorithm(algorithm) && digestType in DIGESTS,
  );
  const strong = supported.filter(({ digestType }) => DIGESTS[digestType] !== 'sha1');
  return strong.length > 0 ? strong : supported;
}

/** Reads the keys that may sign records of a zone (RFC 4034 section 2.1.1, RFC 5011 section 2.1). */
export const zoneKeysOf = ({ data }: RecordSet): ZoneKey[] =>
  data
    .slice(0, MAX_KEYS)
    .map((each) => ({ ...readKey(each), data: each }))
    .filter(({ flags, protocol }) => (flags & ZONE_KEY) !== 0 && (flags & REVOKED) === 0 && protocol === 3);

/** Whether a DS record is of this key (RFC 4034 section 5.1.4). */
export function matchesDelegation(zone: string, key: ZoneKey, ds: DelegationData): boolean {
  const hash = DIGESTS[ds.digestType];
  if (hash === undefined || ds.keyTag !== key.keyTag || ds.algorithm !== key.algorithm) return false;
  return createHash(hash).update(toWire(zone)).update(key.data).digest().equals(ds.digest);
}

/** RFC 3110 section 2: the exponent with its length before it, then the modulus. */
function rsaKey(bytes: Buffer): KeyObject {
  const isLong = bytes[0] === 0;
  const start = isLong ? 3 : 1;
  const end = start + (isLong ? bytes.readUInt16BE(1) : bytes.readUInt8(0));
  const [e = '', n = ''] = [bytes.subarray(start, end), bytes.subarray(end)].map((part) =>
    part.toString('base64url'),
  );
  return createPublicKey({ key: { kty: 'RSA', e, n }, format: 'jwk' });
}

function curveKey(crv: string, bytes: Buffer): KeyObject {
  const half = bytes.length / 2;
  const [x = '', y = ''] = [bytes.subarray(0, half), bytes.subarray(half)].map((part) =>
    part.toString('base64url'),
  );
  return createPublicKey({ key: { kty: 'EC', crv, x, y }, format: 'jwk' });
}

function isGenuine({ algorithm, publicKey }: KeyData, data: Buffer, signature: Buffer): boolean {
  const [rsa, curve, edwards] = [RSA[algorithm], CURVES[algorithm], EDWARDS[algorithm]];
  try {
    if (rsa !== undefined) return verify(rsa, data, rsaKey(publicKey), signature);
    if (curve !== undefined)
      return verify(
        curve.hash,
        data,
        { key: curveKey(curve.crv, publicKey), dsaEncoding: 'ieee-p1363' },
        signature,
      );
    const key = { kty: 'OKP', crv: edwards ?? '', x: publicKey.toString('base64url') };
    return edwards !== undefined && verify(null, data, createPublicKey({ key, format: 'jwk' }), signature);
  } catch {
    return false; // The key is malformed.
  }
}

const u16 = (value: number): Buffer => Buffer.of(value >> 8, value & 0xff);

/** The bytes that a signature covers (RFC 4034 section 3.1.8.1). */
function signedBytes({ owner, type, data }: RecordSet, { labels, originalTtl, head }: Signature): Buffer {
  const isExpanded = labels < countLabels(owner);
  const name = isExpanded ? (labels === 0 ? '*' : `*.${suffixOf(owner, labels)}`) : owner;
  const ttl = Buffer.alloc(4);
  ttl.writeUInt32BE(originalTtl);
  const before = Buffer.concat([toWire(name), u16(type), u16(1), ttl]);
  const distinct = new Map(data.map((each) => [each.toString('latin1'), each]));
  const sorted = [...distinct.values()].sort(Buffer.compare);
  return Buffer.concat([head, ...sorted.flatMap((each) => [before, u16(each.length), each])]);
}

const dateOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19);

function faultOf(
  set: RecordSet,
  signature: Signature,
  keys: readonly ZoneKey[],
  effort: Effort,
): string | null {
  const { now } = effort;
  const { keyTag, algorithm, expiration, inception, labels } = signature;
  // Times are compared modulo 2^32 (RFC 1982).
  if (((expiration - now) | 0) < 0) return `the signature expired at ${dateOf(expiration)}Z`;
  if (((now - inception) | 0) < 0) return `the signature is valid only from ${dateOf(inception)}Z`;
  if (labels > splitName(set.owner).length) return 'the signature is for a longer name';
  const candidates = keys.filter((key) => key.keyTag === keyTag && key.algorithm === algorithm);
  if (candidates.length === 0)
    return `the zone has no DNSKEY record with the key tag ${keyTag} of the signature`;
  const bytes = signedBytes(set, signature);
  for (const key of candidates) {
    if (effort.verifications === 0) return 'too many signatures and keys had to be tried';
    effort.verifications -= 1;
    if (isGenuine(key, bytes, signature.signature)) return null;
  }
  return `the signature of the key with the tag ${keyTag} is wrong`;
}

/**
 * Verifies the signatures of a set by the keys of a zone.
 *
 * @returns the valid signature, or why there is none
 */
export function verifySet(
  set: RecordSet,
  zone: string,
  keys: readonly ZoneKey[],
  effort: Effort,
): { signature: Signature } | { fault: string } {
  const own = set.signatures.filter(({ signer }) => signer === zone).slice(0, MAX_SIGNATURES);
  let fault = set.signatures.length === 0 ? 'they are not signed' : `they are not signed by ${zone}`;
  for (const signature of own) {
    const found = faultOf(set, signature, keys, effort);
    if (found === null) return { signature };
    fault = found;
  }
  return { fault };
}
