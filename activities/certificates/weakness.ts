import type { X509Certificate } from 'node:crypto';
import type { RootOf } from '../../egress/roots.ts';

/** Security level 2 of OpenSSL, 112 bits (NIST SP 800-57 part 1): what its default is, and what browsers ask for. */
const MIN_MODULUS_BITS = 2048;
const WEAK_DIGEST = /md[245]|sha1(?!\d)/i;

const isShort = ({ publicKey: { asymmetricKeyDetails } }: X509Certificate): boolean =>
  (asymmetricKeyDetails?.modulusLength ?? MIN_MODULUS_BITS) < MIN_MODULUS_BITS;

/**
 * Why a valid chain is too weak to be trusted, as OpenSSL's code, or null. A handshake that takes everything
 * (security level 0) does not ask, so this does what OpenSSL's check_auth_level would have, with the path that OpenSSL
 * verifies: to the first certificate that a trusted root issued, whatever else was sent.
 *
 * @param chain the server's own certificate first
 */
export function weakness(chain: readonly X509Certificate[], rootOf: RootOf): string | null {
  for (const [index, certificate] of chain.entries()) {
    if (isShort(certificate)) return index === 0 ? 'EE_KEY_TOO_SMALL' : 'CA_KEY_TOO_SMALL';
    const root = rootOf(certificate);
    // Nothing depends on how a root is signed.
    if (root?.raw.equals(certificate.raw)) return null;
    if (WEAK_DIGEST.test(certificate.signatureAlgorithm ?? '')) return 'CA_MD_TOO_WEAK';
    if (root !== null) return isShort(root) ? 'CA_KEY_TOO_SMALL' : null;
  }
  return null;
}
