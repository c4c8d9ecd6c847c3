import type { X509Certificate } from 'node:crypto';
import type { RootOf } from '../../egress/roots.ts';

/**
 * Minimum size of an RSA or DSA modulus in bits, at OpenSSL's default security level 2 (112 bits of security, NIST SP 800-57
 * part 1). Browsers require the same size.
 */
const MIN_MODULUS_BITS = 2048;
const WEAK_DIGEST = /md[245]|sha1(?!\d)/i;

const isShort = ({ publicKey: { asymmetricKeyDetails } }: X509Certificate): boolean =>
  (asymmetricKeyDetails?.modulusLength ?? MIN_MODULUS_BITS) < MIN_MODULUS_BITS;

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
    if (WEAK_DIGEST.test(certificate.signatureAlgorithm ?? '')) return 'CA_MD_TOO_WEAK';
    if (root !== null) return isShort(root) ? 'CA_KEY_TOO_SMALL' : null;
  }
  return null;
}
