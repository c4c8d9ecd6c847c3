import { X509Certificate } from 'node:crypto';

/**
 * Parses a DER certificate.
 *
 * @throws Error when the bytes are not a certificate, or when a date of its validity is invalid (such as a 13th month),
 *   because Node may return a wrong date then
 */
export function readX509(der: Buffer): X509Certificate {
  const certificate = new X509Certificate(der);
  for (const time of [certificate.validFrom, certificate.validTo])
    if (Number.isNaN(Date.parse(time))) throw new RangeError(time);
  return certificate;
}
