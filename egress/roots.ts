import { X509Certificate } from 'node:crypto';
import { getCACertificates } from 'node:tls';

/** Returns the trusted root that issued a certificate (the certificate itself if it is a root), or null. */
export type RootOf = (certificate: X509Certificate) => X509Certificate | null;

/** Whether one certificate signed the other, by name and by signature. */
export function signed(issuer: X509Certificate, certificate: X509Certificate): boolean {
  if (issuer.subject !== certificate.issuer) return false;
  try {
    return certificate.verify(issuer.publicKey);
  } catch {
    return false; // a key that OpenSSL cannot verify with
  }
}

/** Whether one certificate signed the other and may do so. */
export const issued = (issuer: X509Certificate, certificate: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && signed(issuer, certificate);

/** Creates the look-up of trusted roots, which are parsed on first use. @param ca PEM; default: Node's roots */
export function createRoots(ca?: readonly string[]): RootOf {
  let roots: Map<string, X509Certificate[]> | undefined;
  return (certificate) => {
    roots ??= Map.groupBy(
      (ca ?? getCACertificates('default')).map((pem) => new X509Certificate(pem)),
      ({ subject }) => subject,
    );
    const itself = roots.get(certificate.subject)?.find(({ raw }) => raw.equals(certificate.raw));
    return itself ?? roots.get(certificate.issuer)?.find((root) => issued(root, certificate)) ?? null;
  };
}
