import type { X509Certificate } from 'node:crypto';
import { targetFailed } from '../../egress/failure.ts';
import type { TLSSocket } from '../../egress/guard.ts';
import { presentedBy } from '../../egress/probe.ts';
import type { RootOf } from '../../egress/roots.ts';
import type { Vetted } from '../../egress/vet.ts';
import { alternativeNames } from '../certificates/alternativeNames.ts';
import { distinguishedNames } from '../certificates/distinguishedName.ts';
import { matchHost } from '../certificates/matchHost.ts';
import { readX509 } from '../certificates/readX509.ts';
import { weakness } from '../certificates/weakness.ts';

/** The certificate fields of the tool's output; each is null when the connection does not use TLS. */
export interface CertificateReport {
  certificateSubject: string | null;
  certificateIssuer: string | null;
  certificateExpiresUtc: string | null;
  certificateValid: boolean | null;
  certificateError: string | null;
}

export const NO_CERTIFICATE: CertificateReport = {
  certificateSubject: null,
  certificateIssuer: null,
  certificateExpiresUtc: null,
  certificateValid: null,
  certificateError: null,
};

/** Whether the certificate is for the host by RFC 9525, as in ssl-check. */
function identifiesHost(leaf: X509Certificate, { target: { host } }: Vetted): boolean {
  const matchedBy = matchHost(host, alternativeNames(leaf.raw), []);
  return matchedBy === 'dns-san' || matchedBy === 'ip-san';
}

/** Reads and validates the server's certificate. @throws ServiceError target_failed when it cannot be read */
export function readCertificate(socket: TLSSocket, vetted: Vetted, rootOf: RootOf): CertificateReport {
  try {
    const presented = presentedBy(socket, vetted, rootOf);
    const [leaf, ...issuers] = (presented?.chain ?? []).map(readX509);
    if (presented === null || leaf === undefined) throw new RangeError('no certificate');
    const error =
      presented.chainError ??
      weakness([leaf, ...issuers], rootOf) ??
      (identifiesHost(leaf, vetted) ? null : 'ERR_TLS_CERT_ALTNAME_INVALID');
    const { subject, issuer } = distinguishedNames(leaf);
    return {
      certificateSubject: subject,
      certificateIssuer: issuer,
      certificateExpiresUtc: leaf.validToDate.toISOString(),
      certificateValid: error === null,
      certificateError: error,
    };
  } catch (cause) {
    throw targetFailed('tls', { detail: 'The certificate cannot be read.', cause });
  }
}
