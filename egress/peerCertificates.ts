import type { X509Certificate } from 'node:crypto';
import type { PeerCertificate, TLSSocket } from 'node:tls';

/** Maximum number of certificates to read. Clients verify only shorter chains; OpenSSL accepts about 100 KB of them. */
const MAX_CERTIFICATES = 100;

/** The certificates that a server sent, its own first. */
interface Sent {
  certificates: readonly X509Certificate[];
  /** Whether the server sent more. */
  truncated: boolean;
}

const known = new WeakMap<TLSSocket, Sent>();

/**
 * Returns the certificates that a server sent, in its order; null before they have arrived, or if it sent none.
 *
 * They are read once, because getPeerX509Certificate removes them from OpenSSL's list and leaks some KB for each issuer that was
 * sent. getPeerCertificate is no choice: it reads the parameters of each key, and ends the process with Node.js 24 at some of the
 * curves that a server may choose.
 */
export function peerCertificates(socket: TLSSocket): Sent | null {
  const earlier = known.get(socket);
  if (earlier !== undefined) return earlier;
  const certificates: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  for (; next !== undefined && certificates.length < MAX_CERTIFICATES; next = next.issuerCertificate)
    certificates.push(next);
  if (certificates.length === 0) return null;
  const sent = { certificates, truncated: next !== undefined };
  known.set(socket, sent);
  return sent;
}

/** Returns the common names of a certificate's subject. Names of hosts need no escapes (RFC 2253, section 2.4). */
export const commonNames = ({ subject }: X509Certificate): string[] =>
  (subject ?? '').split(/\n| \+ /).flatMap((part) => (part.startsWith('CN=') ? part.slice(3) : []));

/** Returns what `checkServerIdentity` needs of a certificate, in the form of getPeerCertificate. */
export function identityOf(certificate: X509Certificate): PeerCertificate {
  const { ca, raw, validFrom, validTo, serialNumber, subjectAltName } = certificate;
  const { fingerprint, fingerprint256, fingerprint512 } = certificate;
  const noName = { C: '', ST: '', L: '', O: '', OU: '', CN: '' };
  return {
    ...{ ca, raw, serialNumber, fingerprint, fingerprint256, fingerprint512 },
    ...{ valid_from: validFrom, valid_to: validTo, issuer: noName },
    subject: { ...noName, CN: commonNames(certificate).at(-1) ?? '' },
    ...(subjectAltName === undefined ? {} : { subjectaltname: subjectAltName }),
  };
}
