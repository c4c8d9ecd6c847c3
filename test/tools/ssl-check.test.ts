import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createTcpServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type TlsOptions } from 'node:tls';
import { promisify } from 'node:util';
import test from 'ava';
import { createGuard } from '../../egress/guard.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { type Certificate, issueCertificate, retime } from '../helpers/certificates.ts';
import { codeOf, listen, stubNetwork } from '../helpers/egress.ts';
import { recordsAt } from '../helpers/json.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('ssl-check');
const run = promisify(execFile);

const root = await issueCertificate({ subject: '/C=US/O=Test/CN=Root', issuer: null, authority: true });
const between = await issueCertificate({ subject: '/CN=Intermediate', issuer: root, authority: true });
const unknownRoot = await issueCertificate({ subject: '/CN=Unknown', issuer: null, authority: true });
const names = ['DNS.1=example.com', 'DNS.2=*.example.com', 'IP.1=127.0.0.1', 'IP.2=::1'];
const site = { subject: '/CN=example.com', names, issuer: root };
const good = await issueCertificate(site);

const resolver = { addresses: async () => ({ addresses: ['127.0.0.1'], chain: [] }) };
const egress = createGuard({
  resolver,
  allow: [parseAllow('127.0.0.0/8')],
  ownPorts: [],
  ca: [root.cert],
});

/** Calls `work` with the port of a server on loopback, and closes the server afterwards. */
async function withServer<T>(server: Server, work: (port: number) => Promise<T>): Promise<T> {
  const sockets = new Set<{ destroy(): unknown }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  try {
    return await work(await listen(server));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

/** Creates a TLS server that accepts all versions and cipher suites that OpenSSL supports. */
const tlsServer = ({ cert, key }: Certificate, options: TlsOptions = {}): Server =>
  createServer({ cert, key, minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0', ...options });

const check = (host: string, ms = 60_000) => tool.call({ host }, { egress, deadline: Date.now() + ms });
const checkServer = (server: Server, name = 'example.com') =>
  withServer(server, (port) => check(`${name}:${port}`));

/** OpenSSL's verification error codes by name (x509_vfy.h). */
const CODES: Readonly<Record<string, string | null>> = {
  0: null,
  10: 'CERT_HAS_EXPIRED',
  18: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  19: 'SELF_SIGNED_CERT_IN_CHAIN',
  24: 'INVALID_CA',
  26: 'INVALID_PURPOSE',
  32: 'KEYUSAGE_NO_CERTSIGN',
  79: 'INVALID_CA',
  20: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  21: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  34: 'UNHANDLED_CRITICAL_EXTENSION',
  47: 'PERMITTED_VIOLATION',
  48: 'EXCLUDED_VIOLATION',
  66: 'EE_KEY_TOO_SMALL',
  67: 'CA_KEY_TOO_SMALL',
  68: 'CA_MD_TOO_WEAK',
};

/** Returns the verification result of `openssl s_client` for the server, at openssl's default security level. */
async function opensslVerdict(port: number, name: string) {
  const folder = await mkdtemp(join(tmpdir(), 'roots-'));
  try {
    const roots = join(folder, 'roots');
    await writeFile(roots, root.cert);
    const connection = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', name];
    const trust = ['-CAfile', roots, '-no-CApath', '-no-CAstore', '-cipher', 'DEFAULT@SECLEVEL=2'];
    const client = run('openssl', [...connection, ...trust], { timeout: 20_000 });
    client.child.stdin?.end();
    const { stdout } = await client;
    const [, code = ''] = /Verify return code: (\d+)/.exec(stdout) ?? [];
    const [, protocol = ''] = /^\s*(?:New, )?(TLSv[\d.]+), Cipher is/m.exec(stdout) ?? [];
    return { code: CODES[code], protocol };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const withChain = (own: Certificate, ...issuers: Certificate[]): Certificate => ({
  key: own.key,
  cert: [own, ...issuers].map(({ cert }) => cert).join(''),
});

const chained = await issueCertificate({ ...site, issuer: between });
const weakIssuer = await issueCertificate({
  subject: '/CN=SHA-1 intermediate',
  issuer: root,
  authority: true,
  digest: 'sha1',
});
const shortIssuer = await issueCertificate({
  subject: '/CN=Short',
  issuer: root,
  authority: true,
  bits: 1024,
});
const smallIssuer = await issueCertificate({
  subject: '/CN=Small curve',
  issuer: root,
  authority: true,
  curve: 'prime192v1',
});
const rsaIssuer = await issueCertificate({ subject: '/CN=RSA', issuer: root, authority: true, bits: 2048 });
const signedByPss = async (digest: 'sha1' | 'sha256') =>
  withChain(await issueCertificate({ ...site, issuer: rsaIssuer, pss: true, digest }), rsaIssuer);
/** Creates an intermediate certificate with name constraints, and a site certificate issued by it. */
async function constrain(constraints: string): Promise<Certificate> {
  const extensions = [`nameConstraints=critical,${constraints}`];
  const issuer = await issueCertificate({
    subject: '/CN=Constrained',
    issuer: root,
    authority: true,
    extensions,
  });
  return withChain(await issueCertificate({ ...site, issuer }), issuer);
}
const elsewhere = await constrain('permitted;DNS:example.org');

const second = await issueCertificate({ subject: '/CN=Second', issuer: between, authority: true });
const underSecond = await issueCertificate({ ...site, issuer: second });
const underShort = await issueCertificate({
  subject: '/CN=Under short',
  issuer: shortIssuer,
  authority: true,
});
const underWeak = await issueCertificate({ subject: '/CN=Under weak', issuer: weakIssuer, authority: true });
/** A root certificate that old clients trust. It cross-signs the new root certificate. */
const oldRoot = await issueCertificate({ subject: '/CN=Old', issuer: null, authority: true, bits: 1024 });
const cross = await issueCertificate({
  subject: '/C=US/O=Test/CN=Root',
  issuer: oldRoot,
  authority: true,
  digest: 'sha1',
  key: root.key,
});

const powerless = await issueCertificate({
  subject: '/CN=Powerless',
  issuer: root,
  authority: true,
  extensions: ['keyUsage=critical,digitalSignature'],
});
const endEntity = await issueCertificate({ subject: '/CN=End entity', issuer: root });

const SERVERS: Readonly<Record<string, { own: Certificate; error: string | null; issuers: number }>> = {
  valid: { own: good, error: null, issuers: 1 },
  'with an intermediate': { own: withChain(chained, between), error: null, issuers: 2 },
  'with its root': { own: withChain(chained, between, root), error: null, issuers: 2 },
  'incomplete chain': { own: chained, error: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', issuers: 0 },
  expired: { own: await issueCertificate({ ...site, days: -1 }), error: 'CERT_HAS_EXPIRED', issuers: 1 },
  'self-signed': {
    own: await issueCertificate({ ...site, issuer: null }),
    error: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    issuers: 0,
  },
  'untrusted root': {
    own: withChain(await issueCertificate({ ...site, issuer: unknownRoot }), unknownRoot),
    error: 'SELF_SIGNED_CERT_IN_CHAIN',
    issuers: 1,
  },
  'SHA-1': { own: await issueCertificate({ ...site, digest: 'sha1' }), error: 'CA_MD_TOO_WEAK', issuers: 1 },
  'SHA-1 intermediate': {
    own: withChain(await issueCertificate({ ...site, issuer: weakIssuer }), weakIssuer),
    error: 'CA_MD_TOO_WEAK',
    issuers: 2,
  },
  'short key': {
    own: await issueCertificate({ ...site, bits: 1024 }),
    error: 'EE_KEY_TOO_SMALL',
    issuers: 1,
  },
  'key of 1962 bits': {
    own: await issueCertificate({ ...site, bits: 1962 }),
    error: 'EE_KEY_TOO_SMALL',
    issuers: 1,
  },
  'key of 1963 bits': { own: await issueCertificate({ ...site, bits: 1963 }), error: null, issuers: 1 },
  'short key of an intermediate': {
    own: withChain(await issueCertificate({ ...site, issuer: shortIssuer }), shortIssuer),
    error: 'CA_KEY_TOO_SMALL',
    issuers: 2,
  },
  'small curve of an intermediate': {
    own: withChain(await issueCertificate({ ...site, issuer: smallIssuer }), smallIssuer),
    error: 'CA_KEY_TOO_SMALL',
    issuers: 2,
  },
  'SHA-1 with PSS': { own: await signedByPss('sha1'), error: 'CA_MD_TOO_WEAK', issuers: 2 },
  'SHA-256 with PSS': { own: await signedByPss('sha256'), error: null, issuers: 2 },
  'in another order': { own: withChain(underSecond, between, second), error: null, issuers: 3 },
  'in another order, with its root': {
    own: withChain(underSecond, root, between, second),
    error: null,
    issuers: 3,
  },
  'in another order, with an unrelated certificate': {
    own: withChain(underSecond, unknownRoot, between, second),
    error: null,
    issuers: 3,
  },
  'short key of an intermediate, in another order': {
    own: withChain(await issueCertificate({ ...site, issuer: underShort }), shortIssuer, underShort),
    error: 'CA_KEY_TOO_SMALL',
    issuers: 3,
  },
  'SHA-1 intermediate, in another order': {
    own: withChain(await issueCertificate({ ...site, issuer: underWeak }), weakIssuer, underWeak),
    error: 'CA_MD_TOO_WEAK',
    issuers: 3,
  },
  'a cross-signed root': { own: withChain(chained, between, cross), error: null, issuers: 2 },
  'a cross-signed root and its signer': {
    own: withChain(chained, between, cross, oldRoot),
    error: null,
    issuers: 3,
  },
  'names that the constraints of its issuer do not permit': {
    own: elsewhere,
    error: 'PERMITTED_VIOLATION',
    issuers: 2,
  },
  'a name that the constraints of its issuer exclude': {
    own: await constrain('excluded;DNS:example.com'),
    error: 'EXCLUDED_VIOLATION',
    issuers: 2,
  },
  'an unknown critical extension': {
    own: await issueCertificate({ ...site, extensions: ['1.2.3.4=critical,ASN1:NULL'] }),
    error: 'UNHANDLED_CRITICAL_EXTENSION',
    issuers: 1,
  },
};

for (const [name, { own, error, issuers }] of Object.entries(SERVERS))
  test(`${name}: the chain gets the same verdict as by openssl`, async (t) => {
    await withServer(tlsServer(own), async (port) => {
      const output = await check(`example.com:${port}`);
      t.like(output, { chainError: error, chainValid: error === null, hostnameMatches: true });
      t.is(recordsAt(output.chain).length, issuers);
      const openssl = await opensslVerdict(port, 'example.com');
      t.is(openssl.code, error);
      t.is(output.protocol, openssl.protocol);
    });
  });

/** Creates a chain of intermediate certificates, from the root down. */
async function descend(count: number): Promise<Certificate[]> {
  const issuers: Certificate[] = [];
  for (let index = 0; index < count; index++)
    issuers.push(
      await issueCertificate({
        subject: `/CN=Level ${index}`,
        issuer: issuers.at(-1) ?? root,
        authority: true,
      }),
    );
  return issuers;
}

test('a long chain is returned completely', async (t) => {
  const issuers = await descend(25);
  const own = await issueCertificate({ ...site, issuer: issuers.at(-1) ?? null });
  const output = await checkServer(tlsServer(withChain(own, ...issuers.toReversed())));
  t.like(output, { chainValid: true, chainTruncated: false });
  t.deepEqual(
    recordsAt(output.chain).map(({ subject }) => subject),
    [...issuers.map((_, index) => `CN=Level ${index}`).toReversed(), 'CN=Root,O=Test,C=US'],
  );
});

test('a chain that is too long to be listed is reported as truncated', async (t) => {
  // Certificates with two subjects that issue each other in turn; their validity times distinguish them.
  const odd = await issueCertificate({ subject: '/CN=Odd', issuer: null, authority: true });
  const even = await issueCertificate({ subject: '/CN=Even', issuer: odd, authority: true });
  const back = await issueCertificate({ subject: '/CN=Odd', issuer: even, authority: true, key: odd.key });
  const two = (value: number): string => String(value).padStart(2, '0');
  const issuers = Array.from({ length: 102 }, (_, index) =>
    retime(
      index % 2 === 0 ? even : back,
      `20${two(1 + (index % 12))}${two(1 + Math.floor(index / 12))}000000Z`,
      null,
    ),
  );
  const own = await issueCertificate({ ...site, issuer: even });
  const listed = async (count: number) => {
    const output = await checkServer(tlsServer(withChain(own, ...issuers.slice(0, count))));
    return [recordsAt(output.chain).length, output.chainTruncated];
  };
  t.deepEqual(await listed(99), [99, false]);
  t.deepEqual(await listed(100), [99, true]);
  t.deepEqual(await listed(102), [99, true]);
});

for (const [what, issuer, above] of [
  ['without the right to sign', powerless, []],
  ['that is no authority', endEntity, []],
  ['without the right to sign, above another', powerless, [between]],
] as const)
  test(`an issuer ${what} is listed with its fault`, async (t) => {
    const leaf = await issueCertificate({ ...site, issuer });
    await withServer(tlsServer(withChain(leaf, issuer, ...above)), async (port) => {
      const output = await check(`example.com:${port}`);
      t.false(output.chainValid);
      t.deepEqual(
        recordsAt(output.chain).map(({ fingerprint256 }) => fingerprint256),
        [issuer, root].map(({ cert }) => new X509Certificate(cert).fingerprint256),
      );
      t.is(output.chainError, (await opensslVerdict(port, 'example.com')).code);
    });
  });

test('the returned fields have the values of the certificate', async (t) => {
  const own = await issueCertificate({
    ...site,
    subject: '/C=DE/O=Müller\\, "Söhne"+OU=Ä\\+B/CN=example.com',
    days: 90,
  });
  const output = await checkServer(tlsServer(own));
  const certificate = new X509Certificate(own.cert);
  const reading = run('openssl', ['x509', '-noout', '-subject', '-issuer', '-nameopt', 'RFC2253,-esc_msb']);
  reading.child.stdin?.end(own.cert);
  const { stdout } = await reading;
  t.is(stdout, `subject=${output.subject}\nissuer=${output.issuer}\n`);
  t.like(output, {
    host: 'example.com',
    validFrom: new Date(certificate.validFrom).toISOString(),
    validTo: new Date(certificate.validTo).toISOString(),
    daysRemaining: 89,
    serialNumber: certificate.serialNumber,
    fingerprint256: certificate.fingerprint256,
    subjectAlternativeNames: ['example.com', '*.example.com', '127.0.0.1', '::1'],
    protocol: 'TLSv1.3',
  });
  const [issuer] = recordsAt(output.chain);
  t.like(issuer, { subject: 'CN=Root,O=Test,C=US', issuer: 'CN=Root,O=Test,C=US' });
});

test('attribute values of unknown types are shown in hexadecimal, as openssl prints them', async (t) => {
  const names = ['/type0=Aé+CN=a\\+b/O=x', '/CN=a/type0=b=c', '/type1=a+type2=b+CN=c \\+ d'];
  for (const subject of names) {
    const own = await issueCertificate({ ...site, subject, newTypes: ['1.2.3.4', '1.2.3', '1.2.4'] });
    const output = await checkServer(tlsServer(own));
    const reading = run('openssl', ['x509', '-noout', '-subject', '-nameopt', 'RFC2253,-esc_msb']);
    reading.child.stdin?.end(own.cert);
    t.is((await reading).stdout, `subject=${output.subject}\n`);
    t.regex(String(output.subject), /=#0C/);
  }
});

/** Returns whether openssl finds that a certificate is valid for a host. */
async function opensslMatches({ cert }: Certificate, host: string): Promise<boolean> {
  const option = /^[\d.]+$|:/.test(host) ? '-checkip' : '-checkhost';
  const reading = run('openssl', ['x509', '-noout', option, host]);
  reading.child.stdin?.end(cert);
  return (await reading).stdout.includes('does match');
}

const HOSTS: [subject: string, names: string[], host: string, matchedBy: string | null][] = [
  ['/CN=a', ['DNS.1=Example.COM'], 'example.com', 'dns-san'],
  ['/CN=a', ['DNS.1=*.example.com'], 'www.example.com', 'dns-san'],
  ['/CN=a', ['DNS.1=*.example.com'], 'xn--bcher-kva.example.com', 'dns-san'],
  ['/CN=a', ['DNS.1=*.example.com'], 'example.com', null],
  ['/CN=a', ['DNS.1=*.example.com'], 'a.b.example.com', null],
  ['/CN=a', ['DNS.1=*.com'], 'example.com', null],
  ['/CN=a', ['DNS.1=www.*.com'], 'www.example.com', null],
  ['/CN=a', ['DNS.1=*.*.com'], 'www.example.com', null],
  ['/CN=a', ['DNS.1=example.com.'], 'example.com', null],
  ['/CN=a', ['DNS.1=*.example.com.'], 'www.example.com', null],
  ['/CN=a', ['DNS.1=example.com'], 'example.com.', 'dns-san'],
  ['/CN=a', ['DNS.1=w*.example.com'], 'www.example.com', 'partial-wildcard'],
  ['/CN=a', ['DNS.1=*w.example.com'], 'www.example.com', 'partial-wildcard'],
  ['/CN=a', ['DNS.1=w*w.example.com'], 'www.example.com', null],
  ['/CN=a', ['DNS.1=ww*ww.example.com'], 'www.example.com', null],
  ['/CN=a', ['DNS.1=w*.example.com', 'DNS.2=www.example.com'], 'www.example.com', 'dns-san'],
  ['/CN=a', ['DNS.1=xn--*.example.com'], 'xn--bcher-kva.example.com', null],
  ['/CN=example.com', [], 'example.com', 'common-name'],
  ['/CN=*.example.com', [], 'www.example.com', 'common-name'],
  ['/CN=a/CN=example.com', [], 'example.com', 'common-name'],
  ['/CN=example.com', ['IP.1=192.0.2.1'], 'example.com', 'common-name'],
  ['/CN=example.com', ['DNS.1=example.org'], 'example.com', null],
  ['/CN=127.0.0.1', [], '127.0.0.1', null],
  ['/CN=a', ['DNS.1=127.0.0.1'], '127.0.0.1', null],
  ['/CN=a', ['IP.1=127.0.0.1'], '127.0.0.1', 'ip-san'],
];
for (const [subject, names, host, matchedBy] of HOSTS)
  test(`${host} in ${subject} ${names.join()}: matched by ${matchedBy}, as openssl finds`, async (t) => {
    const own = await issueCertificate({ ...site, subject, names });
    const output = await checkServer(tlsServer(own), host);
    t.is(output.matchedBy, matchedBy);
    t.is(output.hostnameMatches, matchedBy === 'dns-san' || matchedBy === 'ip-san');
    t.is(await opensslMatches(own, host.replace(/\.$/, '')), matchedBy !== null);
  });

test('days remaining are rounded down, also below zero', async (t) => {
  const days = async (validity: number) => {
    const own = await issueCertificate({ ...site, days: validity });
    return (await checkServer(tlsServer(own))).daysRemaining;
  };
  t.is(await days(1), 0);
  t.is(await days(0), -1);
  t.is(await days(-1), -2);
});

test('invalid validity times return no dates', async (t) => {
  for (const [from, to] of [
    [null, '271322000000Z'],
    [null, '270230000000Z'],
    [null, '270122000000A'],
    ['259924000000Z', null],
    ['zzzzzzzzzzzzz', '27012200000\xff\xff'],
  ] as const) {
    t.is(await codeOf(() => checkServer(tlsServer(retime(good, from, to)))), 'target_failed');
    const issuer = withChain(chained, retime(between, from, to));
    t.is(await codeOf(() => checkServer(tlsServer(issuer))), 'target_failed');
  }
  const output = await checkServer(tlsServer(retime(good, '200229000000Z', '491231235959Z')));
  t.like(output, { validFrom: '2020-02-29T00:00:00.000Z', validTo: '2049-12-31T23:59:59.000Z' });
});

test('a certificate for another host is reported', async (t) => {
  const output = await checkServer(tlsServer(good), 'a.b.example.com');
  t.like(output, { host: 'a.b.example.com', chainValid: true, hostnameMatches: false });
  t.true((await checkServer(tlsServer(good), 'WWW.example.com.')).hostnameMatches);
  t.true((await checkServer(tlsServer(good), '127.0.0.1')).hostnameMatches);
  const named = await issueCertificate({ ...site, names: ['DNS.1=example.com', 'DNS.2=127.0.0.1'] });
  t.false((await checkServer(tlsServer(named), '127.0.0.1')).hostnameMatches);
});

test('a comma within a name is not a separator', async (t) => {
  const own = await issueCertificate({
    subject: '/CN=spoof',
    names: ['DNS.1="localhost, DNS:example.com"', 'DNS.2=other.example', 'email.1=a@example.com'],
    issuer: root,
  });
  const output = await checkServer(tlsServer(own));
  t.deepEqual(output.subjectAlternativeNames, ['localhost, DNS:example.com', 'other.example']);
  t.false(output.hostnameMatches);
});

test('DNS names and addresses are returned; alternative names of other kinds are left out', async (t) => {
  const names: [tag: number, content: Buffer][] = [
    // The GeneralName types x400Address and ediPartyName (RFC 5280 section 4.2.1.6), and a type that does not exist.
    [0xa3, Buffer.from('3000', 'hex')],
    [0xa5, Buffer.from('a1040c026162', 'hex')],
    [0x89, Buffer.from('ab')],
    [0x82, Buffer.from('example.com')],
    [0x86, Buffer.from('https://example.com/')],
    [0x87, Buffer.from('c0000201', 'hex')],
    [0x87, Buffer.from('20010db8000000000000000000000001', 'hex')],
    [0x87, Buffer.from('c000020100', 'hex')],
    [0x87, Buffer.alloc(0)],
    [0x82, Buffer.from('bücher.example')],
    [0x82, Buffer.from('b\xfccher.example', 'latin1')],
  ];
  const content = Buffer.concat(names.flatMap(([tag, bytes]) => [Buffer.of(tag, bytes.length), bytes]));
  const der = Buffer.concat([Buffer.of(0x30, 0x81, content.length), content]).toString('hex');
  const own = await issueCertificate({ ...site, names: [], extensions: [`subjectAltName=DER:${der}`] });
  t.like(await checkServer(tlsServer(own)), {
    subjectAlternativeNames: ['example.com', '192.0.2.1', '2001:db8::1', 'bücher.example', 'bücher.example'],
    hostnameMatches: true,
  });
  const none = await issueCertificate({ ...site, names: [], extensions: ['subjectAltName=DER:04026869'] });
  t.is(await codeOf(() => checkServer(tlsServer(none))), 'target_failed');
});

test('certificates without a subject or without alternative names are read', async (t) => {
  const nameless = await issueCertificate({ ...site, subject: '/' });
  t.like(await checkServer(tlsServer(nameless)), { subject: '', hostnameMatches: true });
  const old = await issueCertificate({ ...site, names: [] });
  t.like(await checkServer(tlsServer(old)), { subject: 'CN=example.com', subjectAlternativeNames: [] });
});

test('a host name is sent as SNI, an IP address is not', async (t) => {
  const asked: (string | false | null)[] = [];
  const server = () =>
    tlsServer(good, { maxVersion: 'TLSv1.2' }).on(
      'secureConnection',
      ({ servername }: { servername: string | false | null }) => asked.push(servername),
    );
  await checkServer(server(), 'Bücher.example.com');
  await checkServer(server(), '127.0.0.1');
  t.deepEqual(asked, ['xn--bcher-kva.example.com', false]);
});

for (const version of ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const)
  test(`a server that only supports ${version} is reported`, async (t) => {
    const output = await checkServer(tlsServer(good, { minVersion: version, maxVersion: version }));
    t.like(output, { protocol: version, chainValid: true });
  });

test('weak cipher suites are reported', async (t) => {
  const own = await issueCertificate({ ...site, bits: 2048 });
  for (const ciphers of ['AES128-SHA', 'DHE-RSA-AES128-SHA', 'NULL-SHA256', 'NULL-MD5']) {
    const weak = { maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0`, dhparam: 'auto' } as const;
    t.like(await checkServer(tlsServer(own, weak)), { protocol: 'TLSv1.2', chainValid: true });
  }
});

for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
  for (const rejectUnauthorized of [true, false])
    test(`${version}, client certificate ${rejectUnauthorized ? 'required' : 'requested'}: the certificate is reported`, async (t) => {
      for (const [own, error] of [
        [good, null],
        [chained, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
        [elsewhere, 'PERMITTED_VIOLATION'],
      ] as const) {
        const server = tlsServer(own, { maxVersion: version, requestCert: true, rejectUnauthorized });
        const output = await checkServer(server);
        t.like(output, { protocol: version, chainError: error, hostnameMatches: true });
        t.is(output.fingerprint256, new X509Certificate(own.cert).fingerprint256);
      }
    });

test('a server without TLS is reported as target_failed', async (t) => {
  const server = createTcpServer((socket) => socket.end('220 mail.example.com ESMTP\r\n'));
  t.is(await codeOf(() => checkServer(server)), 'target_failed');
  const mute = createTcpServer((socket) => socket.destroy());
  t.is(await codeOf(() => checkServer(mute)), 'target_failed');
});

test('a refused connection is reported as target_failed, a server that does not respond as target_timeout', async (t) => {
  const port = await withServer(createTcpServer(), async (closed) => closed);
  t.is(await codeOf(() => check(`example.com:${port}`)), 'target_failed');
  const silent = createTcpServer();
  t.is(await codeOf(() => withServer(silent, (open) => check(`example.com:${open}`, 700))), 'target_timeout');
});

test('a server that sends single bytes slowly does not extend the timeout', async (t) => {
  // Sends the header of a 16 kB handshake record and then one byte at a time.
  const drip = createTcpServer((socket) => {
    socket.on('error', () => undefined).write(Buffer.from([22, 3, 3, 0x40, 0]));
    const timer = setInterval(() => socket.write(Buffer.alloc(1)), 20);
    socket.once('close', () => clearInterval(timer));
  });
  t.is(await codeOf(() => withServer(drip, (open) => check(`example.com:${open}`, 3000))), 'target_timeout');
});

test('hosts with a port are accepted', async (t) => {
  const dialled = async (host: string) => {
    const network = await stubNetwork({ certificate: good });
    try {
      await tool.call({ host }, { egress: network.guard });
    } finally {
      network.close();
    }
    return network.dialled;
  };
  t.deepEqual(await dialled('example.com'), ['93.184.215.14:443']);
  t.deepEqual(await dialled('example.com:8443'), ['93.184.215.14:8443']);
  t.deepEqual(await dialled('8.8.8.8:08443'), ['8.8.8.8:8443']);
  t.deepEqual(await dialled('2606:4700:4700::1111'), ['2606:4700:4700::1111:443']);
  t.deepEqual(await dialled('[2606:4700:4700::1111]:8443'), ['2606:4700:4700::1111:8443']);
  for (const host of ['example.com:', 'example.com:0', 'example.com:65536', 'example.com:x', ':443', 'a:1:2'])
    t.deepEqual(
      (await faultsOf(tool, { host })).map(({ pointer }) => pointer),
      ['/host'],
      host,
    );
});
