import { X509Certificate } from 'node:crypto';

/**
 * Parses a DER certificate.
 *
 * @throws Error when it is not a certificate, or when its validity has an invalid date (such as a 13th month), for which
 *   Node may return a wrong date
 */
export function readX509(der: Buffer): X509Certificate {
  const certificate = new X509Certificate(der);
  for (const time of [certificate.validFrom, certificate.validTo])
    if (Number.isNaN(Date.parse(time))) throw new RangeError(time);
  return certificate;
}
