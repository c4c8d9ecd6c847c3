import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_clientAuth,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

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
const SERIAL_BYTES = 16;
/** OIDs of RFC 5758 and RFC 4519. */
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const COMMON_NAME = '2.5.4.3';

const pem = (label: string, der: ArrayBuffer): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(der)
    .toString('base64')
    .replace(/.{1,64}/g, '$&\n')}-----END ${label}-----\n`;

const extension = (extnID: string, critical: boolean, value: unknown): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });

const nameOf = (text: string): Name =>
  new Name([
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type: COMMON_NAME, value: new AttributeValue({ utf8String: text }) }),
    ]),
  ]);

/** Identifies a key by the SHA-1 of its bits (RFC 5280, section 4.2.1.2, method 1). */
const keyIdOf = ({ subjectPublicKey }: SubjectPublicKeyInfo): ArrayBuffer =>
  new Uint8Array(createHash('sha1').update(new Uint8Array(subjectPublicKey)).digest()).buffer;

/** Issues a certificate for a new ECDSA key on P-256. A CA may sign only end certificates. */
export function issue({ name, dnsNames = [], days, issuer }: Subject): Issued {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const isAuthority = issuer === null;
  const issuerCertificate =
    issuer === null
      ? null
      : AsnConvert.parse(new X509Certificate(issuer.cert).raw, Certificate).tbsCertificate;
  const serial = randomBytes(SERIAL_BYTES);
  // The number must be positive and have no leading zero byte.
  serial[0] = 0x40 | (serial.readUInt8(0) & 0x3f);
  const usage = isAuthority ? KeyUsageFlags.keyCertSign : KeyUsageFlags.digitalSignature;
  const now = Date.now();
  const algorithm = new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 });
  const keyInfo = AsnConvert.parse(publicKey.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo);
  const content = new TBSCertificate({
    version: Version.v3,
    serialNumber: new Uint8Array(serial).buffer,
    signature: algorithm,
    issuer: issuerCertificate?.subject ?? nameOf(name),
    validity: new Validity({
      notBefore: new Date(now - CLOCK_SKEW_MS),
      notAfter: new Date(now + days * DAY_MS),
    }),
    subject: nameOf(name),
    subjectPublicKeyInfo: keyInfo,
    extensions: new Extensions([
      extension(
        id_ce_basicConstraints,
        true,
        new BasicConstraints(isAuthority ? { cA: true, pathLenConstraint: 0 } : {}),
      ),
      extension(id_ce_keyUsage, true, new KeyUsage(usage)),
      extension(id_ce_subjectKeyIdentifier, false, new SubjectKeyIdentifier(keyIdOf(keyInfo))),
      extension(
        id_ce_authorityKeyIdentifier,
        false,
        new AuthorityKeyIdentifier({
          keyIdentifier: new KeyIdentifier(keyIdOf(issuerCertificate?.subjectPublicKeyInfo ?? keyInfo)),
        }),
      ),
      ...(isAuthority
        ? []
        : [extension(id_ce_extKeyUsage, false, new ExtendedKeyUsage([id_kp_clientAuth, id_kp_serverAuth]))]),
      ...(dnsNames.length === 0
        ? []
        : [
            extension(
              id_ce_subjectAltName,
              false,
              new SubjectAlternativeName(dnsNames.map((dNSName) => new GeneralName({ dNSName }))),
            ),
          ]),
    ]),
  });
  const signingKey = issuer === null ? privateKey : createPrivateKey(issuer.key);
  const signatureValue = new Uint8Array(
    sign('sha256', Buffer.from(AsnConvert.serialize(content)), signingKey),
  ).buffer;
  const certificate = new Certificate({
    tbsCertificate: content,
    signatureAlgorithm: algorithm,
    signatureValue,
  });
  return {
    cert: pem('CERTIFICATE', AsnConvert.serialize(certificate)),
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  };
}
