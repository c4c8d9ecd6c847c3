import { X509Certificate } from 'node:crypto';

/**
 * Reads a certificate, DER.
 *
 * @throws Error when it is none, or its validity begins or ends at no time (a 13th month): Node has no date of such a one,
 *   but may make one up
 */
export function readX509(der: Buffer): X509Certificate {
  const certificate = new X509Certificate(der);
  for (const time of [certificate.validFrom, certificate.validTo])
    if (Number.isNaN(Date.parse(time))) throw new RangeError(time);
  return certificate;
}
