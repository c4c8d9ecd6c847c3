import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A self-signed certificate and its private key, both in PEM. */
export interface Certificate {
  cert: string;
  key: string;
}

/**
 * Creates a self-signed certificate with openssl.
 *
 * @param names subject alternative names in openssl's notation: `DNS:example.com`, `IP:127.0.0.1`
 * @param days validity in days from now; negative for an expired certificate
 */
export async function makeCertificate(names: readonly string[], days = 2): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'certificate-'));
  try {
    const file = (name: string): string => join(folder, name);
    const [config, key, cert, request] = [file('config'), file('key'), file('cert'), file('request')];
    await writeFile(
      config,
      `[req]\ndistinguished_name=dn\n[dn]\n[ext]\nsubjectAltName=${names.join(',')}\nbasicConstraints=CA:TRUE\n`,
    );
    await run('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', key]);
    await run('openssl', [
      'req',
      '-new',
      '-config',
      config,
      '-key',
      key,
      '-subj',
      '/CN=test',
      '-out',
      request,
    ]);
    const signing = ['x509', '-req', '-in', request, '-signkey', key, '-days', `${days}`, '-out', cert];
    await run('openssl', [...signing, '-extfile', config, '-extensions', 'ext']);
    return { cert: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
