import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type TlsOptions } from 'node:tls';
import { promisify } from 'node:util';
import { clientEnv } from '../../dev/host.mjs';
import { freePort } from '../../dev/ports.ts';
import { oldNode as oldNodeProgram } from '../provision/items/oldNode.ts';
import { listen } from './egress.ts';

const run = promisify(execFile);

/** A folder with keys, certificates and parameters, and the processes of the servers that use them. */
interface TlsLab extends AsyncDisposable {
  folder: string;
  /** Registers work that ends a server. */
  onEnd(end: () => void): void;
}

/** Starts a server on loopback. @returns its port */
export type StartServer = (lab: TlsLab) => Promise<number>;

const KEYS = {
  rsa: ['-newkey', 'rsa:2048'],
  'rsa-pss': ['-newkey', 'rsa-pss', '-pkeyopt', 'rsa_keygen_bits:2048'],
  ecdsa: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
  'ecdsa-384': ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'],
  ed25519: ['-newkey', 'ed25519'],
} as const;
type Key = keyof typeof KEYS | 'dsa';

/**
 * The second group of RFC 2409. `openssl dhparam` takes long to find such parameters; those that it finds with `-dsaparam`
 * are written in a form that OpenSSL 1.0.1 does not read.
 */
const DH_1024 = `-----BEGIN DH PARAMETERS-----
MIGHAoGBAP//////////yQ/aoiFowjTExmKLgNwc0SkCTgiKZ8x0Agu+pjsTmyJR
Sgh5jjQE3e+VGbPNOkMbMCsKbfJfFDdP4TVtbVHCReSFtXZiXn7G9ExC6aY37WsL
/1y29Aa37e44a/taiZ+lrp8kEXxLH+ZJKGZR7OZTgf//////////AgEC
-----END DH PARAMETERS-----
`;

/** Creates self-signed certificates for example.com, Diffie-Hellman parameters and an OCSP response. */
export async function createTlsLab(): Promise<TlsLab> {
  const folder = await mkdtemp(join(tmpdir(), 'tls-lab-'));
  const openssl = (...args: string[]) => run('openssl', args, { cwd: folder });
  const self = ['-x509', '-days', '30', '-subj', '/CN=example.com'];
  const certificate = (name: string, key: readonly string[]) =>
    openssl('req', ...self, '-nodes', ...key, '-keyout', `${name}.key`, '-out', `${name}.crt`);
  for (const [name, key] of Object.entries(KEYS)) await certificate(name, key);
  await openssl('dsaparam', '-genkey', '-out', 'dsa.pem', '1024');
  await openssl('req', ...self, '-sha1', '-key', 'dsa.pem', '-out', 'dsa.crt');
  await openssl('pkey', '-in', 'dsa.pem', '-out', 'dsa.key');
  await writeFile(join(folder, 'dh1024.pem'), DH_1024);
  const dh2048 = ['-algorithm', 'DH', '-pkeyopt', 'group:modp_2048', '-out', 'dh2048.pem'];
  await openssl('genpkey', '-genparam', ...dh2048);
  await writeFile(join(folder, 'index'), '');
  await openssl('ocsp', '-issuer', 'rsa.crt', '-cert', 'rsa.crt', '-reqout', 'request');
  const signer = ['-index', 'index', '-CA', 'rsa.crt', '-rsigner', 'rsa.crt', '-rkey', 'rsa.key'];
  await openssl('ocsp', ...signer, '-reqin', 'request', '-respout', 'ocsp.der', '-ndays', '7');
  const ends: (() => void)[] = [];
  return {
    folder,
    onEnd: (end) => ends.push(end),
    async [Symbol.asyncDispose]() {
      for (const end of ends) end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until a server prints that it listens. @throws when it exits before that */
async function untilPrinted(server: ChildProcess, pattern: RegExp): Promise<void> {
  let printed = '';
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  for (const stream of [server.stdout, server.stderr])
    stream?.on('data', (text: Buffer) => {
      printed += text.toString('latin1');
      if (pattern.test(printed)) resolve();
    });
  server.once('error', reject);
  server.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${printed}`)));
  await promise;
}

async function startProcess(lab: TlsLab, file: string, args: string[], ready: RegExp): Promise<void> {
  const server = spawn(file, args, { cwd: lab.folder, env: clientEnv(), stdio: 'pipe' });
  lab.onEnd(() => server.kill('SIGKILL'));
  await untilPrinted(server, ready);
}

/** Starts `openssl s_server` with one certificate, or with two that have different key types, such as RSA and ECDSA. */
export const openssl =
  (keys: Key | readonly [Key, Key], ...options: string[]): StartServer =>
  async (lab) => {
    const [first, second] = typeof keys === 'string' ? [keys] : keys;
    const port = await freePort();
    const certificates = ['-key', `${first}.key`, '-cert', `${first}.crt`];
    if (second !== undefined) certificates.push('-dkey', `${second}.key`, '-dcert', `${second}.crt`);
    const words = ['s_server', '-accept', `127.0.0.1:${port}`, '-www', ...certificates, ...options];
    await startProcess(lab, 'openssl', words, /ACCEPT/);
    return port;
  };

/** `gnutls-serv` with a priority string. */
export const gnutls =
  (keys: readonly Key[], priority: string, ...options: string[]): StartServer =>
  async (lab) => {
    const port = await freePort();
    const certificates = keys.flatMap((key) => [
      '--x509keyfile',
      `${key}.key`,
      '--x509certfile',
      `${key}.crt`,
    ]);
    const words = ['--port', `${port}`, '--http', '--priority', priority, ...certificates, ...options];
    await startProcess(lab, 'gnutls-serv', words, /listening on IPv4/);
    return port;
  };

/** A server of this Node.js, whose OpenSSL is newer than that of Debian. */
export const node =
  (key: Key, options: TlsOptions, staple = false): StartServer =>
  async (lab) => {
    const read = (name: string) => readFile(join(lab.folder, name));
    const response = await read('ocsp.der');
    const server = createServer({
      key: await read(`${key}.key`),
      cert: await read(`${key}.crt`),
      ...options,
    });
    server.on('tlsClientError', () => undefined);
    server.on('secureConnection', (socket) => {
      socket.on('error', () => undefined);
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
    if (staple) server.on('OCSPRequest', (_certificate, _issuer, callback) => callback(null, response));
    lab.onEnd(() => server.close());
    return listen(server);
  };

/** Program of the server below: `<port> <JSON: options of tls.createServer, with names of files>`. */
const OLD_SERVER = `
  var fs = require('fs'), options = JSON.parse(process.argv[2]);
  ['key', 'cert', 'dhparam'].forEach(function (it) { if (options[it]) options[it] = fs.readFileSync(options[it]); });
  require('tls').createServer(options, function (socket) {
    socket.on('error', function () {});
    socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n');
  }).on('clientError', function () {}).listen(Number(process.argv[1]), '127.0.0.1', function () {
    console.log('ACCEPT');
  });`;

/** A server of Node.js 0.12, with OpenSSL 1.0.1. */
export const oldNode =
  (key: Key, options: Record<string, string | boolean | string[]>): StartServer =>
  async (lab) => {
    const program = await oldNodeProgram.get(() => undefined);
    const port = await freePort();
    const all = { key: `${key}.key`, cert: `${key}.crt`, ...options };
    const words = ['--enable-ssl3', '-e', OLD_SERVER, '--', `${port}`, JSON.stringify(all)];
    await startProcess(lab, program, words, /ACCEPT/);
    return port;
  };

/** nginx with directives for its `server` block. */
export const nginx =
  (keys: readonly Key[], ...directives: string[]): StartServer =>
  async (lab) => {
    const port = await freePort();
    const certificates = keys.map((key) => `ssl_certificate ${key}.crt; ssl_certificate_key ${key}.key;`);
    const name = `nginx-${port}`;
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${name}-${kind};`,
    );
    const server = [...certificates, ...directives, 'location / { return 204; }'].join('\n');
    await writeFile(
      join(lab.folder, `${name}.conf`),
      `daemon off; master_process off; pid ${name}.pid; error_log stderr notice; events {}
       http { access_log off; ${temporary.join(' ')} server { listen 127.0.0.1:${port} ssl http2; ${server} } }`,
    );
    const words = ['-p', lab.folder, '-c', `${name}.conf`, '-e', 'stderr'];
    await startProcess(lab, 'nginx', words, /using the "epoll" event method/);
    // nginx prints this line before it accepts connections.
    const probe = connect(port, '127.0.0.1');
    await once(probe, 'connect');
    probe.destroy();
    return port;
  };

/** How a middlebox treats the connections to the server behind it. */
interface Middlebox {
  /** Milliseconds by which it delays each answer. */
  delayMs?: number;
  /** Maximum number of open connections; further connections are closed at once. */
  maximum?: number;
  /** Closes the connection instead of passing on an alert of the server. */
  hidesAlerts?: boolean;
  /** Closes connections on which bytes of the client, decoded as Latin-1, match this. */
  refuses?: RegExp;
}
const ALERT = 21;

/** Puts a middlebox in front of a server. */
export const behind =
  (
    { delayMs = 0, maximum = Number.POSITIVE_INFINITY, hidesAlerts = false, refuses }: Middlebox,
    start: StartServer,
  ): StartServer =>
  async (lab) => {
    const port = await start(lab);
    const open = new Set<Socket>();
    const server = createTcpServer((client) => {
      client.on('error', () => undefined);
      if (open.size >= maximum) {
        client.destroy();
        return;
      }
      open.add(client);
      const target = connect(port, '127.0.0.1');
      target.on('error', () => client.destroy());
      client.on('close', () => {
        open.delete(client);
        target.destroy();
      });
      client.on('data', (bytes: Buffer) => {
        if (refuses?.test(bytes.toString('latin1'))) client.destroy();
        else target.write(bytes);
      });
      target.on('data', (bytes: Buffer) => {
        if (hidesAlerts && bytes[0] === ALERT) client.destroy();
        else setTimeout(() => client.write(bytes), delayMs);
      });
      target.on('end', () => setTimeout(() => client.end(), delayMs));
    });
    lab.onEnd(() => {
      server.close();
      for (const client of open) client.destroy();
    });
    return listen(server);
  };
