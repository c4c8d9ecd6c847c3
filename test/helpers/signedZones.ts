import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DnsServer } from '../../schemas/envValues.ts';

const run = promisify(execFile);

/** How a zone is signed. */
export interface Signing {
  /** Algorithm in the notation of dnssec-keygen. Default: `ECDSAP256SHA256`. */
  algorithm?: string;
  /** Whether names that do not exist are proven by NSEC3, also with opt-out. Default: `nsec`. */
  denial?: 'nsec' | 'nsec3' | 'opt-out';
  /** Start and end of the signatures, in the notation of dnssec-signzone. */
  start?: string;
  end?: string;
}

interface SignedZone {
  /** The signed zone as a master file. */
  text: string;
  /** Its DS records for the parent zone. */
  ds: string;
  /** Its key-signing key: the data of the DNSKEY record. */
  key: string;
}

const file = (zone: string): string => (zone === '.' ? 'root' : zone);

/** Signs a zone with new keys of BIND's tools. @param records master file with SOA and NS records, relative to the zone */
export async function signZone(zone: string, records: string, signing: Signing = {}): Promise<SignedZone> {
  const { algorithm = 'ECDSAP256SHA256', denial = 'nsec', start, end } = signing;
  const folder = await mkdtemp(join(tmpdir(), 'signed-'));
  const bind = async (program: string, ...args: string[]): Promise<string> =>
    (await run(program, args, { cwd: folder })).stdout.trim();
  try {
    const bits = algorithm.startsWith('RSA') ? ['-b', '2048'] : [];
    const [ksk, zsk] = await Promise.all(
      [['-f', 'KSK'], []].map((flags) =>
        bind('dnssec-keygen', '-q', '-a', algorithm, ...bits, ...flags, zone),
      ),
    );
    const keys = await Promise.all([ksk, zsk].map((name) => readFile(join(folder, `${name}.key`), 'utf8')));
    await writeFile(
      join(folder, file(zone)),
      `$TTL 300\n$ORIGIN ${zone === '.' ? '.' : `${zone}.`}\n${records}\n${keys.join('\n')}`,
    );
    await bind(
      'dnssec-signzone',
      ...['-o', zone, '-f', 'out', '-N', 'keep', '-P'],
      ...(start === undefined ? [] : ['-s', start]),
      ...(end === undefined ? [] : ['-e', end]),
      ...(denial === 'nsec' ? [] : ['-3', 'ab12', '-H', '2']),
      ...(denial === 'opt-out' ? ['-A'] : []),
      ...['-k', `${ksk}`, file(zone), `${zsk}`],
    );
    const dsset = await readFile(join(folder, `dsset-${zone === '.' ? '' : zone}.`), 'utf8');
    const [, key = ''] = /\sDNSKEY\s+(.*)/.exec(keys[0]?.replaceAll(/^;.*$/gm, '') ?? '') ?? [];
    return { text: await readFile(join(folder, 'out'), 'utf8'), ds: dsset, key };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export type DelvVerdict = 'secure' | 'insecure' | 'bogus';

/** Validates with delv, BIND's validating client. @param key data of the DNSKEY record of the root zone */
export async function delv(server: DnsServer, key: string, name: string, type: string): Promise<DelvVerdict> {
  const folder = await mkdtemp(join(tmpdir(), 'delv-'));
  try {
    const [flags, protocol, algorithm, ...base64] = key.split(/\s+/);
    const anchors = join(folder, 'anchors');
    await writeFile(
      anchors,
      `trust-anchors { . static-key ${flags} ${protocol} ${algorithm} "${base64.join('')}"; };\n`,
    );
    const where = [`@${server.address}`, '-p', `${server.port}`, '-a', anchors];
    const { stdout, stderr } = await run('delv', [...where, name, type], { timeout: 30_000 }).catch(
      (error: { stdout: string; stderr: string }) => error,
    );
    if (/fully validated/.test(stdout) && !/unsigned answer/.test(stdout)) return 'secure';
    if (/unsigned answer/.test(stdout)) return 'insecure';
    if (/resolution failed/.test(stdout + stderr)) return 'bogus';
    throw new Error(`delv said: ${stdout}${stderr}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
