import { X509Certificate } from 'node:crypto';
import { getCACertificates } from 'node:tls';

/** Returns the trusted root that issued a certificate (the certificate itself if it is such a root), or null. */
export type RootOf = (certificate: X509Certificate) => X509Certificate | null;

/** Whether `issuer` signed `certificate`: the issuer name and the signature match. */
export function signed(issuer: X509Certificate, certificate: X509Certificate): boolean {
  if (issuer.subject !== certificate.issuer) return false;
  try {
    return certificate.verify(issuer.publicKey);
  } catch {
    return false; // OpenSSL does not support the issuer's key.
  }
}

/** Whether `issuer` signed `certificate` and is permitted to issue certificates. */
export const issued = (issuer: X509Certificate, certificate: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && signed(issuer, certificate);

/** Creates a function that finds trusted roots, which it parses on first use. @param ca roots in PEM; default: Node's */
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
