import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A certificate and its private key, both in PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

interface Issue {
  /** Subject in the notation of `openssl req -subj`; `/` is an empty subject. */
  subject: string;
  /** Subject alternative names in the notation of openssl's configuration, `DNS.1=example.com`. */
  names?: readonly string[];
  /** The certificate that signs this one; null for a self-signed certificate. */
  issuer: Certificate | null;
  /** Validity in days from now; 0 or -1 for an expired certificate. */
  days?: number;
  authority?: boolean;
  digest?: 'sha256' | 'sha1';
  /** Additional extensions in the notation of openssl's configuration, `nameConstraints=permitted;DNS:example.com`. */
  extensions?: readonly string[];
  /** Size in bits of a new RSA key. Default: a new elliptic curve key. */
  bits?: number;
  /** Name of the curve. Default: `prime256v1`. */
  curve?: string;
  /** Whether the issuer, which has an RSA key, signs with PSS. */
  pss?: boolean;
  /** An existing private key to use, in PEM. */
  key?: string;
  /** Attribute types to define for the subject, because openssl has no name for their object identifiers. */
  newTypes?: readonly string[];
}

/** Creates a certificate with openssl. */
export async function issueCertificate({
  subject,
  names = [],
  issuer,
  days = 30,
  authority = false,
  digest = 'sha256',
  extensions = [],
  bits,
  curve = 'prime256v1',
  pss = false,
  key,
  newTypes = [],
}: Issue): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder });
  try {
    const names_ = names.length === 0 ? '' : `subjectAltName=@names\n[names]\n${names.join('\n')}\n`;
    await writeFile(
      join(folder, 'config'),
      `oid_section=types\n[types]\n${newTypes.map((type, index) => `type${index}=${type}\n`).join('')}[req]\ndistinguished_name=dn\n[dn]\n[ext]\nbasicConstraints=CA:${authority}\n${[...extensions, names_].join('\n')}`,
    );
    if (key !== undefined) await writeFile(join(folder, 'key'), key);
    else if (bits === undefined) await openssl('ecparam', '-name', curve, '-genkey', '-noout', '-out', 'key');
    else await openssl('genrsa', '-out', 'key', String(bits));
    const request = ['-new', '-utf8', '-config', 'config', '-key', 'key', '-subj', subject];
    await openssl('req', ...request, '-out', 'request');
    const signer =
      issuer === null ? ['-signkey', 'key'] : ['-CA', 'ca', '-CAkey', 'cakey', '-CAcreateserial'];
    if (issuer !== null) {
      await writeFile(join(folder, 'ca'), issuer.cert);
      await writeFile(join(folder, 'cakey'), issuer.key);
    }
    const added = ['-extfile', 'config', '-extensions', 'ext'];
    const signing = ['-req', '-in', 'request', '-days', `${days}`, `-${digest}`, '-out', 'cert'];
    const padding = pss ? ['-sigopt', 'rsa_padding_mode:pss', '-sigopt', 'rsa_pss_saltlen:20'] : [];
    await openssl('x509', ...signing, ...padding, ...signer, ...added);
    const read = (name: string) => readFile(join(folder, name), 'utf8');
    return { cert: await read('cert'), key: await read('key') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Creates a self-signed certificate.
 *
 * @param names subject alternative names: `DNS:example.com`, `IP:127.0.0.1`
 * @param days validity in days from now; negative for an expired certificate
 */
export const makeCertificate = (names: readonly string[], days = 2): Promise<Certificate> =>
  issueCertificate({
    subject: '/CN=test',
    names: names.map((name, index) => name.replace(':', `.${index}=`)),
    issuer: null,
    days,
    authority: true,
  });

/** Encodes DER bytes as a PEM certificate (RFC 7468). */
const armour = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

/**
 * Overwrites the validity times of a certificate with others of the same length, in the format `261231235959Z`; null
 * keeps a time. The signature becomes invalid.
 */
export function retime({ cert, key }: Certificate, from: string | null, to: string | null): Certificate {
  const times = [from, to];
  const der = new X509Certificate(cert).raw
    .toString('latin1')
    .replace(/\d{12}Z/g, (time) => times.shift() ?? time);
  return { cert: armour(Buffer.from(der, 'latin1')), key };
}
