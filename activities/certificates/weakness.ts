import type { X509Certificate } from 'node:crypto';
import type { RootOf } from '../../egress/roots.ts';

/** Minimum sizes of a modulus in bits, at OpenSSL's default security level 2 (112 bits of security, NIST SP 800-57 part 1). */
const MIN_MODULUS_BITS = 2048;
/** OpenSSL rounds the security of an RSA key to a multiple of 8 bits (ossl_ifc_ffc_compute_security_bits), so that it accepts 2047 bits. */
const MIN_RSA_BITS = 1963;
/** Minimum size of an elliptic curve in bits, at the same level. */
const MIN_CURVE_BITS = 224;
const WEAK_DIGEST = /md[245]|sha1(?!\d)/i;
/** The identifiers of PSS and of SHA-2 in DER; the second follows the first by six bytes. Without it, PSS uses SHA-1 (RFC 4055 section 3.1). */
const PSS = Buffer.from('06092a864886f70d01010a', 'hex');
const SHA2 = Buffer.from('06096086480165030402', 'hex');
const GAP = 6;

function isShort({ publicKey: { asymmetricKeyType, asymmetricKeyDetails = {} } }: X509Certificate): boolean {
  const { modulusLength = MIN_MODULUS_BITS, namedCurve = '' } = asymmetricKeyDetails;
  // Names such as prime192v1, secp160k1 and brainpoolP160r1 have the size of their curve.
  const curveBits = Number(/\d{3}/.exec(namedCurve)?.[0] ?? MIN_CURVE_BITS);
  const minBits = asymmetricKeyType?.startsWith('rsa') ? MIN_RSA_BITS : MIN_MODULUS_BITS;
  return modulusLength < minBits || curveBits < MIN_CURVE_BITS;
}

function hasWeakDigest({ signatureAlgorithm = '', raw }: X509Certificate): boolean {
  if (signatureAlgorithm !== 'rsassaPss') return WEAK_DIGEST.test(signatureAlgorithm);
  const at = raw.indexOf(PSS) + PSS.length + GAP;
  return !raw.subarray(at, at + SHA2.length).equals(SHA2);
}

/**
 * Returns OpenSSL's error code when a valid chain has a weak key or digest, else null. Replicates check_auth_level of
 * OpenSSL, because the service's handshakes use security level 0, which accepts weak certificates. Checks the chain up to
 * the first certificate that a trusted root issued and ignores the rest.
 *
 * @param chain starts with the server's own certificate
 */
export function weakness(chain: readonly X509Certificate[], rootOf: RootOf): string | null {
  for (const [index, certificate] of chain.entries()) {
    if (isShort(certificate)) return index === 0 ? 'EE_KEY_TOO_SMALL' : 'CA_KEY_TOO_SMALL';
    const root = rootOf(certificate);
    // A root's signature of itself proves nothing, so its digest does not matter.
    if (root?.raw.equals(certificate.raw)) return null;
    if (hasWeakDigest(certificate)) return 'CA_MD_TOO_WEAK';
    if (root !== null) return isShort(root) ? 'CA_KEY_TOO_SMALL' : null;
  }
  return null;
}
