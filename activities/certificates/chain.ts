import type { X509Certificate } from 'node:crypto';
import { ServiceError } from '../../schemas/errors.ts';
import { type AlternativeName, alternativeNames } from './alternativeNames.ts';
import { distinguishedNames } from './distinguishedName.ts';
import { readX509 } from './readX509.ts';
import { renewal } from './renewal.ts';

/** A server's own certificate with its subject alternative names, and the certificates of its issuers. */
interface Chain {
  leaf: X509Certificate;
  issuers: X509Certificate[];
  names: AlternativeName[];
}

/** Parses a certificate chain in DER, the server's own certificate first. @throws ServiceError target_failed */
export function readChain(chain: readonly Buffer[]): Chain {
  try {
    const [leaf, ...issuers] = chain.map(readX509);
    if (leaf === undefined) throw new RangeError('no certificate');
    return { leaf, issuers, names: alternativeNames(leaf.raw) };
  } catch (cause) {
    throw new ServiceError('target_failed', { detail: 'The certificate cannot be read.', cause });
  }
}

/** Describes a certificate for an output. */
export const describe = (certificate: X509Certificate) => ({
  ...distinguishedNames(certificate),
  validFrom: certificate.validFromDate.toISOString(),
  validTo: certificate.validToDate.toISOString(),
  serialNumber: certificate.serialNumber,
  fingerprint256: certificate.fingerprint256,
});

/** Describes a server's own certificate for an output: also how long it is valid, and for which names. */
export const describeOwn = (leaf: X509Certificate, names: readonly AlternativeName[]) => ({
  ...describe(leaf),
  ...renewal(leaf.validFromDate, leaf.validToDate, Date.now()),
  subjectAlternativeNames: names.map(({ value }) => value),
});
