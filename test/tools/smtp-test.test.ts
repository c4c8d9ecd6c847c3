import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { SMTPServer, type SMTPServerAuthentication, type SMTPServerOptions } from 'smtp-server';
import { type Certificate, issueCertificate } from '../helpers/certificates.ts';
import { codeOf, listen } from '../helpers/egress.ts';
import { recordsAt } from '../helpers/json.ts';
import { good, MAIL_HOST, mailSite, networkOf, probe, root, stepsOf } from '../helpers/mail.ts';
import { type Postfix, startPostfix } from '../helpers/postfix.ts';
import { ownLoopback, swaks } from '../helpers/smtp.ts';
import { faultsOf, loadTool } from '../helpers/tool.ts';

const tool = await loadTool('smtp-test');
const sslCheck = await loadTool('ssl-check');

const user = { name: 'tester', realm: MAIL_HOST, password: 'correct horse' };
const username = `${user.name}@${user.realm}`;
const { password } = user;
const wrong = 'battery staple';

const unknown = await issueCertificate({ subject: '/CN=Unknown', issuer: null, authority: true });
const CERTIFICATES: Readonly<Record<string, [Certificate, string | null]>> = {
  valid: [good, null],
  expired: [await issueCertificate({ ...mailSite, days: -1 }), 'CERT_HAS_EXPIRED'],
  'self-signed': [await issueCertificate({ ...mailSite, issuer: null }), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  'of an unknown issuer': [
    await issueCertificate({ ...mailSite, issuer: unknown }),
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ],
  'for another host': [
    await issueCertificate({ ...mailSite, names: ['DNS.1=www.example.com'] }),
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ],
  'with a short key': [await issueCertificate({ ...mailSite, bits: 1024 }), 'EE_KEY_TOO_SMALL'],
};

let postfix: Postfix;
test.before(async () => {
  postfix = await startPostfix({ certificate: good, user });
});
test.after.always(() => postfix?.close());

const HELLO = ['connect -', 'banner 220', 'ehlo 250'];
const UPGRADED = [...HELLO, 'starttls 220', 'tls -', 'ehlo 250'];

/** Holds the same conversation with swaks and compares the findings. @returns the tool's output */
async function compareWithSwaks(
  t: ExecutionContext,
  where: { address: string; port: number },
  body: Record<string, unknown>,
  options: string[],
): Promise<Record<string, unknown>> {
  const output = await probe(where, body);
  const peer = await swaks(where.address, where.port, ...options);
  t.true(peer.extensions.length > 0, peer.transcript);
  t.deepEqual(output.extensions, peer.extensions);
  t.is(output.encryption !== 'none', peer.tls, peer.transcript);
  t.is(output.authSucceeded, peer.authSucceeded, peer.transcript);
  return output;
}

test('Postfix: STARTTLS is reported as swaks reports it', async (t) => {
  const output = await compareWithSwaks(t, postfix, {}, ['-tls', '--quit-after', 'EHLO']);
  t.deepEqual(stepsOf(output), [...UPGRADED, 'quit 221']);
  t.like(output, {
    encryption: 'starttls',
    authAttempted: false,
    authSucceeded: false,
    certificateSubject: `CN=${MAIL_HOST},O=Mail`,
    certificateIssuer: 'CN=Root,O=Test,C=US',
    certificateExpiresUtc: new Date(new X509Certificate(good.cert).validTo).toISOString(),
    certificateValid: true,
    certificateError: null,
    authMechanisms: ['PLAIN', 'LOGIN', 'CRAM-MD5'],
    flags: [],
  });
  const [, banner, hello] = recordsAt(output.steps);
  t.like(banner, { command: null, reply: `220 ${MAIL_HOST} ESMTP Postfix` });
  t.regex(String(hello?.command), /^EHLO \S+$/);
  t.regex(String(hello?.reply), /^250-mail\.example\.com\n(?:250-.+\n)*250 .+$/);
});

test('Postfix: port 465 uses implicit TLS, whatever mode is requested', async (t) => {
  const where = { ...postfix, port: 465 };
  for (const encryption of ['starttls', 'ssl', 'none']) {
    const options = ['-tlsc', '--quit-after', 'EHLO'];
    const output = await compareWithSwaks(t, where, { encryption }, options);
    t.like(output, { encryption: 'implicit-tls', certificateValid: true });
    t.deepEqual(stepsOf(output), ['connect -', 'tls -', 'banner 220', 'ehlo 250', 'quit 221']);
  }
});

test('Postfix: with each AUTH mechanism a correct password succeeds and a wrong one fails', async (t) => {
  for (const mechanism of ['PLAIN', 'LOGIN', 'CRAM-MD5'])
    for (const given of [password, wrong]) {
      const options = ['-tls', '-a', mechanism, '--auth-user', username, '--auth-password', given];
      const body = { username, password: given, authMechanism: mechanism };
      const output = await compareWithSwaks(t, postfix, body, options);
      t.like(output, { authAttempted: true, authSucceeded: given === password });
      t.is(stepsOf(output).at(-2), given === password ? 'auth 235' : 'auth 535 !');
      t.is(stepsOf(output).at(-1), 'quit 221');
    }
});

test('Postfix: without STARTTLS no credentials are sent, unless the caller requests plaintext', async (t) => {
  const where = { ...postfix, port: 587 };
  const kept = await probe(where, { username, password });
  t.deepEqual(stepsOf(kept), [...HELLO, 'starttls - !', 'auth - !', 'quit 221']);
  t.like(kept, { encryption: 'none', authAttempted: true, authSucceeded: false, certificateValid: null });
  t.deepEqual(kept.authMechanisms, ['PLAIN', 'LOGIN', 'CRAM-MD5']);
  const auth = recordsAt(kept.steps).find(({ step }) => step === 'auth');
  t.like(auth, { command: null, reply: 'Not sent: the connection is not encrypted.' });

  const options = ['-a', 'CRAM-MD5', '--auth-user', username, '--auth-password', password];
  const clear = await compareWithSwaks(t, where, { username, password, encryption: 'none' }, options);
  t.deepEqual(stepsOf(clear), [...HELLO, 'auth 334', 'auth 235', 'quit 221']);
  t.is(recordsAt(clear.steps)[3]?.command, 'AUTH CRAM-MD5', 'a mechanism that does not expose the password');
});

test('a closed port and a port of another protocol make the call fail', async (t) => {
  const closed = { address: ownLoopback(), port: 2525 };
  t.is(await codeOf(() => probe(closed)), 'target_failed');
  t.is(
    await codeOf(() => probe(postfix, { encryption: 'ssl' })),
    'target_failed',
    'the port does not speak TLS',
  );
});

type Answer = (auth: SMTPServerAuthentication) => boolean;

/** Calls `work` with a server of the npm package smtp-server. */
async function withServer<T>(
  {
    certificate = good,
    accepts = () => false,
    port = 2525,
    ...options
  }: SMTPServerOptions & {
    certificate?: Certificate;
    accepts?: Answer;
    port?: number;
  },
  work: (where: { address: string; port: number }) => Promise<T>,
): Promise<T> {
  const server = new SMTPServer({
    ...certificate,
    name: MAIL_HOST,
    authMethods: ['PLAIN', 'LOGIN', 'XOAUTH2', 'CRAM-MD5'],
    authOptional: true,
    disableReverseLookup: true,
    ...options,
    onAuth: (auth, _session, done) => {
      if (accepts(auth)) done(null, { user: auth.username });
      else if (auth.method === 'XOAUTH2') done(null, { data: { status: '401', scope: 'mail' } });
      else done(new Error('Authentication Failed'));
    },
  });
  server.on('error', () => undefined);
  const address = ownLoopback();
  server.listen(port, address);
  await once(server.server, 'listening');
  try {
    return await work({ address, port });
  } finally {
    await new Promise<void>((closed) => server.close(() => closed()));
  }
}

/** Accepts the credentials that the tests use. */
const known: Answer = (auth) =>
  auth.method === 'CRAM-MD5'
    ? auth.username === username && auth.validatePassword(password)
    : auth.username === username && (auth.password ?? auth.accessToken) === password;

test('smtp-server: each AUTH mechanism works', async (t) => {
  const asked: string[] = [];
  const accepts: Answer = (auth) => {
    asked.push(auth.method);
    return known(auth);
  };
  await withServer({ accepts }, async (where) => {
    for (const authMechanism of ['PLAIN', 'LOGIN', 'CRAM-MD5', 'XOAUTH2'])
      for (const given of [password, wrong]) {
        const output = await probe(where, { username, password: given, authMechanism });
        t.is(output.authSucceeded, given === password, `${authMechanism} ${given}`);
        t.is(stepsOf(output).at(-1), 'quit 221');
      }
  });
  t.deepEqual(asked, ['PLAIN', 'PLAIN', 'LOGIN', 'LOGIN', 'CRAM-MD5', 'CRAM-MD5', 'XOAUTH2', 'XOAUTH2']);
});

test('smtp-server: credentials may be long and in any script', async (t) => {
  const own = { username: 'jürgen@пример.example', password: `пароль-${'x'.repeat(2000)} 🔑` };
  const accepts: Answer = ({ username: name, password: word, accessToken }) =>
    name === own.username && (word ?? accessToken) === own.password;
  await withServer({ accepts }, async (where) => {
    for (const authMechanism of ['PLAIN', 'LOGIN', 'XOAUTH2'])
      t.true((await probe(where, { ...own, authMechanism })).authSucceeded === true, authMechanism);
    // An SMTP command is limited to 512 octets, so longer credentials are sent after the server's challenge.
    const output = await probe(where, { ...own, authMechanism: 'PLAIN' });
    t.deepEqual(stepsOf(output).slice(6), ['auth 334', 'auth 235', 'quit 221']);
  });
});

test('the mechanism is the first that client and server both support, or the requested one', async (t) => {
  const used = async (authMethods: string[], body: Record<string, unknown> = {}) =>
    withServer({ authMethods, accepts: known }, async (where) => {
      const { steps } = await probe(where, { username, password, ...body });
      const { command, reply } = recordsAt(steps).find(({ step }) => step === 'auth') ?? {};
      return command ?? reply;
    });
  t.is(await used(['CRAM-MD5', 'XOAUTH2', 'LOGIN', 'PLAIN']), 'AUTH PLAIN ***');
  t.is(await used(['XOAUTH2', 'CRAM-MD5', 'LOGIN']), 'AUTH LOGIN');
  t.is(await used(['XOAUTH2', 'CRAM-MD5']), 'AUTH CRAM-MD5');
  t.is(await used(['XOAUTH2']), 'AUTH XOAUTH2 ***');
  t.is(await used(['PLAIN', 'XOAUTH2'], { authMechanism: 'XOAUTH2' }), 'AUTH XOAUTH2 ***');
  t.is(await used(['PLAIN'], { authMechanism: 'XOAUTH2' }), 'The server does not offer XOAUTH2.');
  t.is(await used(['GSSAPI']), 'The server does not offer any of PLAIN, LOGIN, CRAM-MD5, XOAUTH2.');
});

/** OpenSSL's verification error codes by name (x509_vfy.h); error 62 has another name in the tool's output. */
const CODES: Readonly<Record<string, string | null>> = {
  0: null,
  10: 'CERT_HAS_EXPIRED',
  18: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  21: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  62: 'ERR_TLS_CERT_ALTNAME_INVALID',
  66: 'EE_KEY_TOO_SMALL',
};

/** Returns the verification result of `openssl s_client` for the server's certificate after STARTTLS. */
async function opensslVerdict({ address, port }: { address: string; port: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'roots-'));
  try {
    const roots = join(folder, 'roots');
    await writeFile(roots, root.cert);
    const connection = ['s_client', '-starttls', 'smtp', '-connect', `${address}:${port}`];
    const trust = ['-CAfile', roots, '-no-CApath', '-no-CAstore', '-verify_hostname', MAIL_HOST];
    const names = ['-nameopt', 'RFC2253', '-cipher', 'DEFAULT@SECLEVEL=2'];
    const client = promisify(execFile)('openssl', [...connection, ...trust, ...names], { timeout: 20_000 });
    // The openssl process may have exited before its input is written.
    client.child.stdin?.on('error', () => undefined).end('QUIT\r\n');
    const { stdout } = await client;
    const [, code = ''] = /Verify return code: (\d+)/.exec(stdout) ?? [];
    const [, subject] = /^subject=(.*)$/m.exec(stdout) ?? [];
    const [, issuer] = /^issuer=(.*)$/m.exec(stdout) ?? [];
    return { certificateError: CODES[code], certificateSubject: subject, certificateIssuer: issuer };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

for (const [name, [certificate, error]] of Object.entries(CERTIFICATES))
  test(`a certificate ${name} gets the same verdict as by openssl, and the session continues`, async (t) => {
    // The lowest security level, because otherwise OpenSSL refuses to use a short key in the test server.
    const options = { certificate, accepts: known, ciphers: 'DEFAULT@SECLEVEL=0' };
    await withServer(options, async (where) => {
      const output = await probe(where, { username, password });
      t.like(output, { encryption: 'starttls', certificateValid: error === null, certificateError: error });
      t.true(output.authSucceeded === true);
      t.like(output, await opensslVerdict(where));
      const { validTo } = new X509Certificate(certificate.cert);
      t.is(output.certificateExpiresUtc, new Date(validTo).toISOString());
    });
  });

/** Certificates that OpenSSL accepts for the host by its older rules, and browsers and ssl-check do not (RFC 9525). */
const OUTDATED = { 'its common name': 'IP.1=127.0.0.1', 'a part of a label': 'DNS.1=m*.example.com' };
for (const [how, name] of Object.entries(OUTDATED))
  test(`a certificate for the host only by ${how} is not valid, as in ssl-check`, async (t) => {
    const certificate = await issueCertificate({ ...mailSite, names: [name] });
    await withServer({ certificate }, async (where) => {
      const output = await probe(where);
      t.like(output, { certificateValid: false, certificateError: 'ERR_TLS_CERT_ALTNAME_INVALID' });
      t.is((await opensslVerdict(where)).certificateError, null);
      const server = createServer(certificate);
      const port = await listen(server);
      t.teardown(() => server.close());
      const egress = networkOf('127.0.0.1');
      t.like(await sslCheck.call({ host: `${MAIL_HOST}:${port}` }, { egress }), { hostnameMatches: false });
    });
  });

test('invalid ports, modes and credentials are rejected', async (t) => {
  const pointers = async (body: Record<string, unknown>) =>
    (await faultsOf(tool, { host: MAIL_HOST, ...body })).map(({ pointer }) => pointer);
  for (const port of [0, 24, 80, 26, 588, 2526, 65_536]) t.deepEqual(await pointers({ port }), ['/port']);
  t.deepEqual(await pointers({ encryption: 'tls' }), ['/encryption']);
  t.deepEqual(await pointers({ username }), ['/password']);
  t.deepEqual(await pointers({ password }), ['/username']);
  t.deepEqual(await pointers({ authMechanism: 'PLAIN' }), ['/authMechanism']);
  t.deepEqual(await pointers({ username: 'a\0b', password: 'a\r\nb' }), ['/username', '/password']);
  t.deepEqual(await pointers({ username: '\ud800', password: 'a' }), ['/username']);
  for (const host of [
    'mail.example.com\r\nQUIT',
    'mail.example.com\n',
    'mail.example.com:25',
    'a b',
    'smtp://a.b',
  ])
    t.deepEqual(await pointers({ host }), ['/host'], host);
  t.like(tool.validate({ host: MAIL_HOST }), { port: 587, encryption: 'starttls' });
  t.true(tool.definition.actsOnWorld?.(tool.validate({ host: MAIL_HOST, username, password })));
  t.false(tool.definition.actsOnWorld?.(tool.validate({ host: MAIL_HOST })));
});

test('an address is accepted in place of a name', async (t) => {
  const own = await issueCertificate({ ...mailSite, names: [`IP.1=${postfix.address}`] });
  await withServer({ certificate: own }, async ({ address, port }) => {
    const output = await tool.call({ host: address, port }, { egress: networkOf(address) });
    t.like(output, { encryption: 'starttls', certificateError: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });
  const output = await tool.call(
    { host: postfix.address, port: 2525 },
    { egress: networkOf(postfix.address) },
  );
  t.is(output.encryption, 'starttls');
});
