import { createServer, type TlsOptions } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { renewal } from '../../activities/certificates/renewal.ts';
import { createGuard } from '../../egress/guard.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { type Certificate, issueCertificate } from '../helpers/certificates.ts';
import { codeOf, listen, stubNetwork } from '../helpers/egress.ts';
import { loadTool } from '../helpers/tool.ts';

const tool = await loadTool('ssl-check');
const request = await loadTool('http-request');
const root = await issueCertificate({ subject: '/CN=Root', issuer: null, authority: true });

const egress = createGuard({
  resolver: { addresses: async () => ({ addresses: ['127.0.0.1'], chain: [] }) },
  allow: [parseAllow('127.0.0.0/8')],
  ownPorts: [],
  ca: [root.cert],
});

/** Starts a TLS server and checks it under a host name. */
async function check(
  t: ExecutionContext,
  host: string,
  { cert, key }: Certificate,
  options: TlsOptions = {},
): Promise<Record<string, unknown>> {
  const server = createServer({ cert, key, ...options }, (socket) => socket.on('error', () => undefined));
  server.on('tlsClientError', () => undefined);
  const port = await listen(server);
  t.teardown(() => server.close());
  return tool.call({ host: `${host}:${port}` }, { egress });
}

/** Host, DNS name of the certificate, and whether Chromium and curl accept the certificate for the host. */
const NAMES: [host: string, name: string, accepted: boolean][] = [
  ['my_app.example.com', '*.example.com', true],
  ['_dmarc.example.com', '*.example.com', true],
  ['app.my_zone.example.com', '*.my_zone.example.com', true],
  ['my_app.example.com', 'my_app.example.com', true],
  ['a.b.example.com', '*.example.com', false],
  ['my_app.example.com', 'my*.example.com', false],
  ['example.com', '*.example.com', false],
];
for (const [host, name, accepted] of NAMES)
  test(`wildcards match as in browsers: ${host}, ${name}`, async (t) => {
    const certificate = await issueCertificate({ subject: '/', names: [`DNS.1=${name}`], issuer: root });
    const { hostnameMatches, matchedBy } = await check(t, host, certificate);
    t.is(hostnameMatches, accepted);
    if (accepted) t.is(matchedBy, 'dns-san');
  });

test('a host with an underscore that a wildcard covers can be requested', async (t) => {
  const certificate = await issueCertificate({ subject: '/', names: ['DNS.1=*.example.com'], issuer: root });
  using network = await stubNetwork({ certificate, ca: [root.cert] });
  const ask = (url: string) => codeOf(() => request.call({ url }, { egress: network.guard }));
  t.is(await ask('https://my_app.example.com/'), 'ok');
  t.is(await ask('https://a.b.example.com/'), 'target_failed');
});

const GROUPS = [
  ...['MLKEM512', 'MLKEM768', 'MLKEM1024', 'SecP256r1MLKEM768', 'SecP384r1MLKEM1024'],
  ...['ffdhe4096', 'ffdhe6144', 'ffdhe8192', 'X448', 'brainpoolP256r1tls13', 'brainpoolP512r1tls13'],
];
for (const group of GROUPS)
  test(`a server of TLS 1.3 that accepts only one group is read: ${group}`, async (t) => {
    const certificate = await issueCertificate({
      subject: '/',
      names: ['DNS.1=one.example.com'],
      issuer: root,
    });
    const options = { ecdhCurve: group, minVersion: 'TLSv1.3' } as const;
    t.like(await check(t, 'one.example.com', certificate, options), {
      chainValid: true,
      protocol: 'TLSv1.3',
    });
  });

for (const curve of ['brainpoolP384r1', 'secp256k1', 'sect283k1'])
  test(`a server of TLS 1.2 that accepts only one curve is read: ${curve}`, async (t) => {
    const certificate = await issueCertificate({
      subject: '/',
      names: ['DNS.1=one.example.com'],
      issuer: root,
      bits: 2048,
    });
    const options = { ecdhCurve: curve, maxVersion: 'TLSv1.2', ciphers: 'ECDHE:@SECLEVEL=0' } as const;
    t.like(await check(t, 'one.example.com', certificate, options), {
      chainValid: true,
      protocol: 'TLSv1.2',
    });
  });

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 5, 1);
/** Lifetime and age in days, and what is right. Let's Encrypt's certificates of 6 days live 160 hours. */
const LIVES: [lifetime: number, age: number, lifetimeDays: number, renewalDue: boolean][] = [
  [90, 0, 90, false],
  [90, 59, 90, false],
  [90, 61, 90, true],
  [47, 31, 47, false],
  [47, 32, 47, true],
  [160 / 24, 3, 6, false],
  [160 / 24, 3.5, 6, true],
  [1, 0.4, 1, false],
  [398, 265, 398, false],
  [398, 400, 398, true],
];
for (const [lifetime, age, lifetimeDays, renewalDue] of LIVES)
  test(`renewal is due by the lifetime of the certificate: ${lifetime.toFixed(1)} days, ${age} days old`, (t) => {
    const from = NOW - age * DAY_MS;
    const found = renewal(new Date(from), new Date(from + lifetime * DAY_MS - 1000), NOW);
    t.like(found, { lifetimeDays, renewalDue });
  });

for (const [days, renewalDue] of [
  [47, false],
  [6, false],
  [-1, true],
] as const)
  test(`the lifetime of a new certificate of ${days} days is reported`, async (t) => {
    const certificate = await issueCertificate({
      subject: '/',
      names: ['DNS.1=one.example.com'],
      issuer: root,
      days,
    });
    const output = await check(t, 'one.example.com', certificate);
    t.is(output.renewalDue, renewalDue);
    if (days > 0) t.is(output.lifetimeDays, days);
  });

test('a certificate without subject and OCSP, for an address, is valid', async (t) => {
  const certificate = await issueCertificate({
    subject: '/',
    names: ['IP.1=127.0.0.1', 'IP.2=2001:db8::1', 'DNS.1=one.example.com'],
    issuer: root,
  });
  for (const [host, matchedBy] of [
    ['127.0.0.1', 'ip-san'],
    ['one.example.com', 'dns-san'],
  ] as const)
    t.like(await check(t, host, certificate), {
      subject: '',
      chainValid: true,
      chainError: null,
      hostnameMatches: true,
      matchedBy,
      renewalDue: false,
    });
});
