import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** A certificate and its private key, both in PEM. */
export interface Issued {
  cert: string;
  key: string;
}

interface Subject {
  /** Common name of the subject. */
  name: string;
  /** DNS names, for the certificate of a server. */
  dnsNames?: readonly string[];
  days: number;
  /** The certificate that signs this one; null for a CA, which signs itself. */
  issuer: Issued | null;
}

const DAY_MS = 86_400_000;
/** Clocks of containers may differ by this much. */
const CLOCK_SKEW_MS = 3_600_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

const AUTHORITY = [
  new BasicConstraintsExtension(true, 0, true),
  new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true),
];
const END_CERTIFICATE = [
  new BasicConstraintsExtension(false, undefined, true),
  new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
  new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth, ExtendedKeyUsage.serverAuth]),
];

const readKey = (pem: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(pem), ALGORITHM, false, ['sign']);

/** Issues a certificate for a new ECDSA key on P-256. A CA may sign only end certificates. */
export async function issue({ name, dnsNames = [], days, issuer }: Subject): Promise<Issued> {
  const { publicKey, privateKey } = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const subject = [{ CN: [name] }];
  const authority = issuer === null ? null : new X509Certificate(issuer.cert);
  const names = dnsNames.map((value) => ({ type: 'dns' as const, value }));
  const now = Date.now();
  const certificate = await X509CertificateGenerator.create({
    subject,
    issuer: authority?.subjectName ?? subject,
    notBefore: new Date(now - CLOCK_SKEW_MS),
    notAfter: new Date(now + days * DAY_MS),
    publicKey,
    signingKey: issuer === null ? privateKey : await readKey(issuer.key),
    signingAlgorithm: ALGORITHM,
    extensions: [
      ...(issuer === null ? AUTHORITY : END_CERTIFICATE),
      await SubjectKeyIdentifierExtension.create(publicKey),
      await AuthorityKeyIdentifierExtension.create(authority?.publicKey ?? publicKey),
      ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)]),
    ],
  });
  const key = await crypto.subtle.exportKey('pkcs8', privateKey);
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: `${PemConverter.encode(key, PemConverter.PrivateKeyTag)}\n`,
  };
}
