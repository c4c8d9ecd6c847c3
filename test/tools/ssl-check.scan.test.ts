import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type TlsOptions } from 'node:tls';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { Offered } from '../../activities/tls/cipherScan.ts';
import { encodeClientHello } from '../../activities/tls/clientHello.ts';
import { grade } from '../../activities/tls/grade.ts';
import { CIPHER_SUITES, CIPHER_SUITES_13, GROUPS, GROUPS_13 } from '../../activities/tls/registry.ts';
import { freePort } from '../../dev/ports.ts';
import { createGuard } from '../../egress/guard.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { issueCertificate } from '../helpers/certificates.ts';
import { codeOf, listen } from '../helpers/egress.ts';
import { type Json, recordsAt } from '../helpers/json.ts';
import { scanPort } from '../helpers/scanComparison.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('ssl-check');
const run = promisify(execFile);

const site = { subject: '/CN=example.com', names: ['DNS.1=example.com'], issuer: null };
const rsa = await issueCertificate({ ...site, bits: 2048 });
const ecdsa = await issueCertificate(site);

const resolver = { addresses: async () => ({ addresses: ['127.0.0.1'], chain: [] }) };
const egress = createGuard({ resolver, allow: [parseAllow('127.0.0.0/8')], ownPorts: [] });

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null;

async function scan(t: ExecutionContext, port: number): Promise<Json> {
  const output = await tool.call({ host: `example.com:${port}`, survey: true }, { egress });
  return isRecord(output.survey) ? output.survey : t.fail('no scan');
}

/** Starts `openssl s_server` on loopback. @returns its port */
async function serve(
  t: ExecutionContext,
  certificate: typeof rsa,
  options: readonly string[],
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'scan-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'key'), certificate.key);
  await writeFile(join(folder, 'cert'), certificate.cert);
  const port = await freePort();
  const words = ['s_server', '-accept', `127.0.0.1:${port}`, '-key', 'key', '-cert', 'cert', ...options];
  const server = spawn('openssl', words, { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] });
  t.teardown(() => server.kill('SIGKILL'));
  let printed = '';
  server.stdout.on('data', (text: Buffer) => {
    printed += text.toString('latin1');
  });
  // `openssl s_server` prints ACCEPT when it listens. It exits when its standard input closes.
  while (!printed.includes('ACCEPT')) await once(server.stdout, 'data');
  return port;
}

/** Options of `openssl ciphers` that select the cipher suites of a TLS version. */
const VERSIONS = { TLSv1: '-tls1', 'TLSv1.1': '-tls1_1', 'TLSv1.2': '-tls1_2', 'TLSv1.3': '-tls1_3' };
type Version = keyof typeof VERSIONS;

/** Returns the cipher suites that openssl supports for a TLS version and this type of key. */
async function suitesOf(version: Version, ciphers: string, keyType: 'RSA' | 'ECDSA'): Promise<string[]> {
  const { stdout } = await run('openssl', ['ciphers', '-s', VERSIONS[version], '-stdname', ciphers]);
  const names = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '');
  const other = keyType === 'RSA' ? /_ECDSA_|_DSS_/ : /_RSA_|_DSS_/;
  return names.filter((name) => !/PSK|SRP/.test(name) && !other.test(name)).sort();
}

interface Configuration {
  key: 'RSA' | 'ECDSA';
  versions: Version[];
  ciphers: string;
  groups: readonly (readonly [openssl: string, name: string])[];
  grade: string;
}

const MODERN = [
  ['X25519', 'x25519'],
  ['P-256', 'secp256r1'],
] as const;
const SERVERS: Readonly<Record<string, Configuration>> = {
  'TLS 1.3 alone': { key: 'ECDSA', versions: ['TLSv1.3'], ciphers: '', groups: MODERN, grade: 'A' },
  'TLS 1.3 with other groups': {
    key: 'RSA',
    versions: ['TLSv1.3'],
    ciphers: '',
    groups: [
      ['X448', 'x448'],
      ['P-521', 'secp521r1'],
      ['ffdhe3072', 'ffdhe3072'],
    ],
    grade: 'A',
  },
  'forward secrecy': {
    key: 'ECDSA',
    versions: ['TLSv1.2', 'TLSv1.3'],
    ciphers: 'ECDHE+AESGCM:ECDHE+CHACHA20',
    groups: MODERN,
    grade: 'A',
  },
  'key transport': {
    key: 'RSA',
    versions: ['TLSv1.2', 'TLSv1.3'],
    ciphers: 'ECDHE+AESGCM:AES128-GCM-SHA256',
    groups: MODERN,
    grade: 'B',
  },
  'TLS 1.2 alone': {
    key: 'RSA',
    versions: ['TLSv1.2'],
    ciphers: 'ECDHE-RSA-AES256-GCM-SHA384:DHE-RSA-CHACHA20-POLY1305',
    groups: [['P-384', 'secp384r1']],
    grade: 'B',
  },
  'all versions': {
    key: 'RSA',
    versions: ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'],
    ciphers: 'ECDHE:DHE:@SECLEVEL=0',
    groups: MODERN,
    grade: 'F',
  },
  'old versions': {
    key: 'ECDSA',
    versions: ['TLSv1', 'TLSv1.1'],
    ciphers: 'ECDHE+AES:@SECLEVEL=0',
    groups: MODERN,
    grade: 'C',
  },
  'no authentication': {
    key: 'RSA',
    versions: ['TLSv1.2'],
    ciphers: 'ADH-AES128-SHA256:AES128-SHA256:@SECLEVEL=0',
    groups: [],
    grade: 'F',
  },
  'no encryption': {
    key: 'RSA',
    versions: ['TLSv1.2'],
    ciphers: 'NULL-SHA256:AES128-SHA:@SECLEVEL=0',
    groups: [],
    grade: 'F',
  },
};

const between = (versions: readonly Version[]): string[] =>
  Object.entries(VERSIONS)
    .filter(([version]) => !versions.some((it) => it === version))
    .map(([, option]) => option.replace('-', '-no_'));

for (const [what, { key, versions, ciphers, groups, grade: expected }] of Object.entries(SERVERS))
  test.serial(`a cipher scan finds what openssl is configured to accept: ${what}`, async (t) => {
    const options = [
      ...between(versions),
      ...(ciphers === '' ? [] : ['-cipher', ciphers]),
      ...(groups.length === 0 ? [] : ['-curves', groups.map(([name]) => name).join(':')]),
    ];
    const found = await scan(t, await serve(t, key === 'RSA' ? rsa : ecdsa, options));
    const protocols = recordsAt(found.protocols);
    t.deepEqual(
      protocols.map(({ version }) => version),
      versions,
    );
    for (const [index, version] of versions.entries()) {
      const ours = [protocols[index]?.cipherSuites].flat().map(String).sort();
      const theirs = version === 'TLSv1.3' ? TLS_13 : await suitesOf(version, ciphers, key);
      t.deepEqual(ours, theirs, version);
    }
    t.deepEqual([found.groups].flat().sort(), groups.map(([, name]) => name).sort());
    t.like(found, { postQuantum: false, ocspStapling: false, alpn: [] });
    t.is(found.grade, expected);
  });

/** The cipher suites of TLS 1.3 that openssl accepts by default. */
const TLS_13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** Starts a TLS server of Node.js on loopback. @returns its port */
async function serveNode(t: ExecutionContext, options: TlsOptions, staple: boolean): Promise<number> {
  const server = createServer({ cert: ecdsa.cert, key: ecdsa.key, ...options });
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', (socket) => socket.on('error', () => undefined));
  if (staple)
    server.on('OCSPRequest', (_certificate, _issuer, callback) => callback(null, Buffer.from('a response')));
  t.teardown(() => server.close());
  return listen(server);
}

test.serial('a cipher scan finds ALPN, OCSP stapling and post-quantum key exchange', async (t) => {
  const full = {
    ALPNProtocols: ['h2', 'http/1.1'],
    minVersion: 'TLSv1.3',
    ecdhCurve: 'X25519MLKEM768',
  } as const;
  t.like(await scan(t, await serveNode(t, full, true)), {
    groups: ['X25519MLKEM768'],
    alpn: ['h2', 'http/1.1'],
    ocspStapling: true,
    postQuantum: true,
    grade: 'A+',
  });
  const plain = { ALPNProtocols: ['http/1.1'], maxVersion: 'TLSv1.2', ecdhCurve: 'P-256' } as const;
  t.like(await scan(t, await serveNode(t, plain, false)), {
    groups: ['secp256r1'],
    alpn: ['http/1.1'],
    ocspStapling: false,
    postQuantum: false,
    grade: 'B',
  });
});

test.serial(
  'all groups and cipher suites of TLS 1.3 are found, including those without encryption',
  async (t) => {
    const groups = GROUPS_13.map((code) => GROUPS.get(code) ?? '');
    const suites = [...CIPHER_SUITES_13.values()];
    const options = {
      minVersion: 'TLSv1.3',
      ciphers: `${suites.join(':')}:ALL:@SECLEVEL=0`,
      ecdhCurve: groups.join(':'),
      ALPNProtocols: ['h2'],
    } as const;
    const found = await scan(t, await serveNode(t, options, true));
    t.deepEqual([found.groups].flat().sort(), groups.sort());
    t.deepEqual([recordsAt(found.protocols)[0]?.cipherSuites].flat().sort(), suites.sort());
    t.like(found, { alpn: ['h2'], ocspStapling: true, postQuantum: true, grade: 'F' });
  },
);

test.serial('with an ECDSA certificate, the curves besides that of the certificate are found', async (t) => {
  const curves = 'P-256:P-384:P-521';
  const port = await serve(t, ecdsa, ['-tls1_2', '-curves', curves]);
  t.deepEqual((await scan(t, port)).groups, ['secp256r1', 'secp384r1', 'secp521r1']);
});

test.serial('a server that requires a client certificate is scanned completely', async (t) => {
  const options = ['-tls1_2', '-Verify', '1', '-alpn', 'h2'];
  t.like(await scan(t, await serve(t, rsa, options)), { alpn: ['h2'], grade: 'B' });
});

test.serial('ALPN and stapling are found without TLS 1.2 and 1.3', async (t) => {
  const options = {
    maxVersion: 'TLSv1.1',
    minVersion: 'TLSv1',
    ciphers: 'ALL:!aNULL:@SECLEVEL=0',
    ALPNProtocols: ['http/1.1'],
  } as const;
  t.like(await scan(t, await serveNode(t, options, true)), {
    alpn: ['http/1.1'],
    ocspStapling: true,
    grade: 'C',
  });
});

/** Answer of Node.js 0.12 (OpenSSL 1.0.1l) with TLS_ECDH_anon_WITH_AES_256_CBC_SHA on P-256, in SSL 3.0. */
const SSL3_ANSWER = Buffer.from(
  '160300004a0200004603007dffe60789c48bc462ca105d06132f26cc95632bab69d5ad5e9b0af81ad93ab820eef9525af268c00320d73e88d6' +
    '0e15d94a9d671e74ae76cd84a89495217f9b37c0190016030000490c00004503001741046c5b83922532d9722b5cb4464401b482c5fff159' +
    'f494691d1d004c4db0695424f78d89c80badbf5bc9eaa233d41a694898589b81bf03824dd0bc12e444b44b5f16030000040e000000',
  'hex',
);
const SSL3_REFUSAL = Buffer.from('15030000020228', 'hex');

test('the curve that a server always uses in SSL 3.0, whose ClientHello names none, is found', async (t) => {
  const server = createTcpServer((client) => {
    client.on('error', () => undefined);
    client.once('data', (hello: Buffer) => {
      const isSsl3 = hello[9] === 3 && hello[10] === 0;
      const hasSuite = hello.subarray(44).includes(Buffer.from('c019', 'hex'));
      client.end(isSsl3 && hasSuite ? SSL3_ANSWER : SSL3_REFUSAL);
    });
  });
  t.teardown(() => server.close());
  const { scan: found } = await scanPort(await listen(server));
  t.like(found, {
    protocols: [{ version: 'SSLv3', cipherSuites: ['TLS_ECDH_anon_WITH_AES_256_CBC_SHA'] }],
    groups: ['secp256r1'],
  });
});

test('no ClientHello has a size of 256 to 511 bytes, which some servers do not answer', (t) => {
  for (let suites = 1; suites <= CIPHER_SUITES.size; suites++)
    for (const version of ['TLSv1', 'TLSv1.2', 'TLSv1.3'] as const) {
      const cipherSuites = [...CIPHER_SUITES.keys()].slice(0, suites);
      const record = encodeClientHello({ version, cipherSuites, groups: [23], serverName: 'example.com' });
      const size = record.readUInt16BE(3);
      t.is(size, record.length - 5);
      t.true(size < 256 || size > 511, `${version}, ${suites} suites: ${size}`);
    }
});

test('without the option the output has no scan; without a server the call fails', async (t) => {
  const port = await serveNode(t, {}, false);
  t.is((await tool.call({ host: `example.com:${port}` }, { egress })).survey, null);
  const closed = `example.com:${await freePort()}`;
  t.is(await codeOf(() => tool.call({ host: closed, survey: true }, { egress })), 'target_failed');
});

test('the grade is that of the worst rule that applies', (t) => {
  const of = (version: Offered['protocols'][number]['version'], ...cipherSuites: string[]): Offered => ({
    protocols: [
      { version, cipherSuites },
      { version: 'TLSv1.3', cipherSuites: ['TLS_AES_128_GCM_SHA256'] },
    ],
    groups: ['x25519'],
    alpn: [],
    ocspStapling: false,
  });
  t.is(grade(of('TLSv1.2', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256')), 'A');
  t.is(grade(of('TLSv1.2', 'TLS_RSA_WITH_AES_128_GCM_SHA256')), 'B');
  t.is(grade(of('TLSv1', 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA')), 'B');
  t.is(grade(of('TLSv1.2', 'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA')), 'C');
  for (const suite of [
    'TLS_RSA_WITH_RC4_128_SHA',
    'TLS_RSA_WITH_NULL_SHA',
    'TLS_DH_anon_WITH_AES_128_CBC_SHA',
    'TLS_RSA_EXPORT_WITH_DES40_CBC_SHA',
    'TLS_RSA_WITH_DES_CBC_SHA',
    'TLS_RSA_EXPORT1024_WITH_RC4_56_SHA',
    'TLS_SHA256_SHA256',
  ])
    t.is(grade(of('TLSv1.2', suite)), 'F', suite);
  t.is(grade(of('SSLv3', 'TLS_RSA_WITH_AES_128_CBC_SHA')), 'F');
});
