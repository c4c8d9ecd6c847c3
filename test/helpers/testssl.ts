import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientEnv } from '../../dev/host.mjs';
import { recordsAt } from './json.ts';

/** What testssl.sh reports about a server, in the terms of the cipher scan of ssl-check. */
export interface TestsslReport {
  /** Accepted cipher suites, sorted, by protocol version as the scan names it. */
  protocols: Record<string, string[]>;
  /** Whether it found a robust cipher suite with forward secrecy. Only then does it look for groups. */
  forwardSecrecy: boolean;
  /** Accepted groups under their IANA names. */
  groups: string[];
  alpn: string[];
  /** Null when the server's certificates were not examined. */
  ocspStapling: boolean | null;
}

/** Time limit of one run in milliseconds. */
const RUN_MS = 900_000;

const VERSIONS: Readonly<Record<string, string>> = {
  ssl3: 'SSLv3',
  tls1: 'TLSv1',
  tls1_1: 'TLSv1.1',
  tls1_2: 'TLSv1.2',
  tls1_3: 'TLSv1.3',
};
/** IANA names of groups that testssl.sh calls by OpenSSL's names. */
const GROUP_NAMES: Readonly<Record<string, string>> = {
  prime192v1: 'secp192r1',
  prime256v1: 'secp256r1',
  X25519: 'x25519',
  X448: 'x448',
};
const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');

function read(findings: readonly { id: string; finding: string }[], stapling: boolean): TestsslReport {
  const protocols: Record<string, string[]> = {};
  const values = new Map(findings.map(({ id, finding }) => [id, finding]));
  for (const { id, finding } of findings) {
    const version = VERSIONS[/^cipher-(\w+?)_x[0-9a-f]+$/.exec(id)?.[1] ?? ''];
    const suite = /\b(?:TLS|SSL)_[A-Za-z0-9_]+/.exec(finding)?.[0];
    if (version === undefined || suite === undefined) continue;
    protocols[version] = [...(protocols[version] ?? []), suite].sort();
  }
  const groups = [...words(values.get('PFS_ECDHE_curves') ?? ''), ...words(values.get('DH_groups') ?? '')];
  const alpn = [values.get('ALPN_HTTP2'), values.get('ALPN')].join(' ');
  return {
    protocols,
    forwardSecrecy: values.get('PFS') === 'offered',
    groups: groups
      .map((group) => GROUP_NAMES[group] ?? group)
      .filter((group) => /^(?:x\d|sec|brain|ffdhe)/.test(group)),
    // testssl.sh writes the names of several protocols without a space between them.
    alpn: ['h2', 'http/1.1'].filter((protocol) => alpn.includes(protocol)),
    ocspStapling: stapling
      ? findings.some(({ id, finding }) => id.startsWith('OCSP_stapling') && finding === 'offered')
      : null,
  };
}

/**
 * Runs testssl.sh against a server on loopback.
 *
 * @param stapling whether to examine the certificates as well, which takes a quarter of the time
 *
 * @throws when it does not end in time or writes no report
 */
export async function runTestssl(port: number, stapling: boolean): Promise<TestsslReport> {
  const folder = await mkdtemp(join(tmpdir(), 'testssl-'));
  try {
    const file = join(folder, 'report.json');
    const checks = ['--protocols', '--cipher-per-proto', '--pfs'];
    if (stapling) checks.push('--server-defaults');
    const offline = ['--nodns', 'none', '--ip', '127.0.0.1', '--assume-http'];
    const output = ['--quiet', '--warnings', 'off', '--color', '0', '--jsonfile', file];
    const child = spawn('testssl', [...checks, ...offline, ...output, `example.com:${port}`], {
      env: clientEnv(),
      cwd: folder,
      stdio: 'ignore',
      detached: true,
    });
    const timer = setTimeout(() => child.pid === undefined || process.kill(-child.pid, 'SIGKILL'), RUN_MS);
    try {
      // The exit code is the number of checks with an unclear result.
      await once(child, 'exit');
    } finally {
      clearTimeout(timer);
    }
    if (child.signalCode !== null) throw new Error('testssl.sh did not end in time');
    const report: unknown = JSON.parse(await readFile(file, 'utf8'));
    return read(
      recordsAt(report).map((record) => ({ id: String(record.id), finding: String(record.finding) })),
      stapling,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
