import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import type { Dial } from '../../egress/connect.ts';
import { failureKind } from '../../egress/failure.ts';
import { createGuard, type Guard, type GuardOptions } from '../../egress/guard.ts';
import { peerCertificates } from '../../egress/peerCertificates.ts';
import { certificateFaults } from '../../egress/tls.ts';
import type { Vetted } from '../../egress/vet.ts';
import { parseAllow } from '../../schemas/formats/allow.ts';
import { makeCertificate } from '../helpers/certificates.ts';
import { codeOf, listen, soon } from '../helpers/egress.ts';

const guardOf = (addresses: string[], options: Partial<GuardOptions>): Guard =>
  createGuard({ resolver: { addresses: async () => ({ addresses, chain: [] }) }, ownPorts: [], ...options });

const vet = (guard: Guard, host = 'a.example.com', port = 80): Promise<Vetted> =>
  guard.vet(guard.parseTarget(host, { kind: 'host', port, pointer: '/host' }), soon());

/**
 * Starts a server that counts its connections, and a stub dialler that connects only to it. The stub's sockets report
 * the requested address as their peer.
 */
async function network(
  t: ExecutionContext,
  fates: Record<string, 'answers' | 'refuses' | 'hangs' | 'elsewhere'>,
) {
  const server = createServer();
  const port = await listen(server);
  t.teardown(() => server.close());
  const dialled: string[] = [];
  const dial: Dial = (address) => {
    dialled.push(address);
    const fate = fates[address] ?? 'refuses';
    if (fate === 'hangs') return new Socket();
    const socket = connect(fate === 'refuses' ? 1 : port, '127.0.0.1');
    if (fate === 'answers') Object.defineProperty(socket, 'remoteAddress', { value: address });
    return socket;
  };
  return { server, dial, dialled };
}

test('addresses are tried in turn, IPv4 first, until one accepts the connection', async (t) => {
  const { dial, dialled } = await network(t, {
    '8.8.8.8': 'refuses',
    '9.9.9.9': 'hangs',
    '2a00::1': 'answers',
  });
  const guard = guardOf(['2a00::1', '8.8.8.8', '9.9.9.9', '2a00::2'], { dial });
  const socket = await guard.connect(await vet(guard), soon());
  t.teardown(() => socket.destroy());
  t.deepEqual(dialled, ['8.8.8.8', '9.9.9.9', '2a00::1']);
});

test('the caller can choose among the checked addresses', async (t) => {
  const { dial, dialled } = await network(t, { '2a00::1': 'answers' });
  const guard = guardOf(['8.8.8.8', '2a00::1'], { dial });
  const vetted = await vet(guard);
  const socket = await guard.connect(vetted, { ...soon(), address: '2a00::1' });
  t.teardown(() => socket.destroy());
  t.deepEqual(dialled, ['2a00::1']);
  await t.throwsAsync(() => guard.connect(vetted, { ...soon(), address: '127.0.0.1' }), {
    instanceOf: RangeError,
  });
});

test('nothing is sent to a peer whose address was not checked', async (t) => {
  const { server, dial } = await network(t, { '8.8.8.8': 'elsewhere' });
  const guard = guardOf(['8.8.8.8'], { dial });
  const received = once(server, 'connection').then(async ([socket]) => Buffer.concat(await socket.toArray()));
  const url = guard.parseTarget('http://a.example.com/', { kind: 'url', pointer: '/url' });
  t.is(await codeOf(() => guard.request(url, { ...soon(), maxBytes: 10 })), 'target_failed');
  t.is((await received).length, 0);
});

test('no response is target_timeout, a refused connection is target_failed, and an abort rejects with its reason', async (t) => {
  const { dial } = await network(t, { '9.9.9.9': 'hangs' });
  const hanging = guardOf(['9.9.9.9'], { dial });
  t.is(await codeOf(async () => hanging.connect(await vet(hanging), soon(200))), 'target_timeout');
  t.is(await codeOf(async () => hanging.connect(await vet(hanging), soon(-1))), 'deadline_exceeded');
  const refusing = guardOf(['8.8.8.8', '2a00::1'], { dial });
  const error = await t.throwsAsync(async () => refusing.connect(await vet(refusing), soon()));
  t.is(failureKind(error), 'refused');
  const reason = new Error('enough');
  const limits = { signal: AbortSignal.abort(reason), deadline: Date.now() + 60_000 };
  t.is(await t.throwsAsync(async () => hanging.connect(await vet(hanging), limits)), reason);
});

test('the default dialler opens real sockets over IPv4 and IPv6', async (t) => {
  for (const address of ['127.0.0.1', '::1']) {
    const server = createServer((socket) => socket.end('hello'));
    await once(server.listen(0, address), 'listening');
    t.teardown(() => server.close());
    const info = server.address();
    const port = typeof info === 'object' && info !== null ? info.port : 0;
    const guard = guardOf([], {
      allow: [parseAllow(`${address.includes(':') ? `[${address}]` : address}:${port}`)],
    });
    const socket = await guard.connect(await vet(guard, address, port), soon());
    t.is(Buffer.concat(await socket.toArray()).toString(), 'hello');
  }
});

interface TlsCase {
  names: string[];
  days?: number;
  trusted?: boolean;
  host?: string;
}

/** Starts an HTTPS server with this certificate, and returns it with a guard that allows connections to it. */
async function secured(
  t: ExecutionContext,
  { names, days, trusted = true, host = 'a.example.com' }: TlsCase,
) {
  const certificate = await makeCertificate(names, days);
  let requests = 0;
  const server = createHttpsServer(certificate, (_, response) => {
    requests += 1;
    response.end('hello');
  });
  const port = await listen(server);
  t.teardown(() => server.close());
  const guard = guardOf(['127.0.0.1'], {
    allow: [parseAllow(`127.0.0.1:${port}`)],
    ...(trusted ? { ca: [certificate.cert] } : {}),
  });
  const target = guard.parseTarget(`https://${host}:${port}/`, { kind: 'url', pointer: '/url' });
  return { guard, target, port, requests: () => requests };
}

test('a certificate must be valid for the exact name or address', async (t) => {
  for (const certified of [
    { names: ['DNS:a.example.com'] },
    { names: ['IP:127.0.0.1'], host: '127.0.0.1' },
  ]) {
    const { guard, target } = await secured(t, certified);
    using response = await guard.fetch(target, { ...soon(), maxBytes: 100 });
    t.is((await response.bytes()).toString(), 'hello');
    t.is(response.certificateFault, null);
  }
});

const BAD: [what: string, certificate: TlsCase, fault: string][] = [
  ['expired', { names: ['DNS:a.example.com'], days: -1 }, 'CERT_HAS_EXPIRED'],
  ['self-signed', { names: ['DNS:a.example.com'], trusted: false }, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['for another name', { names: ['DNS:b.example.com'] }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  [
    'for a name, not the address',
    { names: ['DNS:a.example.com'], host: '127.0.0.1' },
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ],
];
for (const [what, certificate, fault] of BAD)
  test(`a certificate that is ${what} is refused, or reported on request`, async (t) => {
    const { guard, target, requests } = await secured(t, certificate);
    const error = await t.throwsAsync(() => guard.fetch(target, { ...soon(), maxBytes: 100 }));
    t.is(failureKind(error), 'certificate');
    t.is(requests(), 0);
    using response = await guard.fetch(target, { ...soon(), maxBytes: 100, verify: 'report' });
    t.is(response.certificateFault, fault);
    t.is((await response.bytes()).toString(), 'hello');
  });

test('a probe reports the certificate, and chain errors and name errors separately', async (t) => {
  const { guard, port } = await secured(t, { names: ['DNS:b.example.com'], trusted: false });
  const vetted = await vet(guard, 'a.example.com', port);
  const socket = await guard.connect(vetted, soon());
  const secure = await guard.startTls(socket, vetted, { ...soon(), verify: 'report' });
  t.teardown(() => secure.destroy());
  t.deepEqual(certificateFaults(secure, vetted), {
    chain: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    host: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
  t.is(peerCertificates(secure)?.certificates[0]?.subjectAltName, 'DNS:b.example.com');
});

test('a TLS handshake that fails or hangs closes the socket', async (t) => {
  for (const [what, answer, code] of [
    ['plain text', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'target_failed'],
    ['silence', '', 'target_timeout'],
  ] as const) {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.write(answer);
    });
    const port = await listen(server);
    t.teardown(() => server.close());
    const guard = guardOf(['127.0.0.1'], { allow: [parseAllow(`127.0.0.1:${port}`)] });
    const vetted = await vet(guard, 'a.example.com', port);
    const socket = await guard.connect(vetted, soon());
    const limits = soon(code === 'target_timeout' ? 500 : undefined);
    t.is(await codeOf(() => guard.startTls(socket, vetted, limits)), code, what);
    t.true(socket.destroyed, what);
  }
});
