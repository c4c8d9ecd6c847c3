import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Certificate } from './certificates.ts';

const run = promisify(execFile);

export interface Issue {
  /** As `openssl req -subj` writes it; `/` is empty. */
  subject: string;
  /** Values of subjectAltName as openssl's configuration writes them, `DNS.1=example.com`. */
  names?: readonly string[];
  /** null for a certificate that signs itself. */
  issuer: Certificate | null;
  /** Of validity from now; 0 or -1 for one that has expired. */
  days?: number;
  authority?: boolean;
  digest?: 'sha256' | 'sha1';
  /** Further extensions as openssl's configuration writes them, `nameConstraints=permitted;DNS:example.com`. */
  extensions?: readonly string[];
  /** RSA key of so many bits; default an elliptic curve key. */
  bits?: number;
  /** A key that there is already, PEM. */
  key?: string;
}

/** Has openssl make a certificate; for one that signs itself and nothing else there is `makeCertificate`. */
export async function issueCertificate({
  subject,
  names = [],
  issuer,
  days = 30,
  authority = false,
  digest = 'sha256',
  extensions = [],
  bits,
  key,
}: Issue): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder });
  try {
    const names_ = names.length === 0 ? '' : `subjectAltName=@names\n[names]\n${names.join('\n')}\n`;
    await writeFile(
      join(folder, 'config'),
      `[req]\ndistinguished_name=dn\n[dn]\n[ext]\nbasicConstraints=CA:${authority}\n${[...extensions, names_].join('\n')}`,
    );
    if (key !== undefined) await writeFile(join(folder, 'key'), key);
    else if (bits === undefined)
      await openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', 'key');
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
    await openssl('x509', ...signing, ...signer, ...added);
    const read = (name: string) => readFile(join(folder, name), 'utf8');
    return { cert: await read('cert'), key: await read('key') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** DER as PEM (RFC 7468). */
const armour = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

/** The certificate with other times of as many characters, `261231235959Z`; null for one that stays. Nobody has signed that. */
export function retime({ cert, key }: Certificate, from: string | null, to: string | null): Certificate {
  const times = [from, to];
  const der = new X509Certificate(cert).raw
    .toString('latin1')
    .replace(/\d{12}Z/g, (time) => times.shift() ?? time);
  return { cert: armour(Buffer.from(der, 'latin1')), key };
}
