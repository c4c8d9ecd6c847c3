import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tethered } from '../../dev/tether.ts';
import type { Certificate } from './certificates.ts';
import { ownLoopback } from './smtp.ts';

export interface Postfix {
  address: string;
  /** Offers STARTTLS, and AUTH only after it. */
  port: 2525;
  close(): Promise<void>;
}

interface PostfixOptions {
  certificate: Certificate;
  user: { name: string; realm: string; password: string };
}

const PROGRAMS = '/usr/lib/postfix/sbin';
/** How long Postfix may take to start on a loaded machine. */
const OPEN_MS = 60_000;
const QUEUES = ['active', 'bounce', 'corrupt', 'defer', 'deferred', 'flush', 'hold', 'incoming'];
const PLACES = [...QUEUES, 'maildrop', 'pid', 'private', 'public', 'saved', 'trace'];

/** Runs a program and returns its output. Rejects when the program fails. */
async function output(file: string, args: string[], input = ''): Promise<string> {
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  // The program may exit without reading its input; only its exit code decides whether it failed.
  child.stdin.on('error', () => undefined).end(input);
  const chunks = child.stdout.toArray();
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
  return Buffer.concat(await chunks)
    .toString()
    .trim();
}

async function untilOpen(address: string, port: number): Promise<void> {
  for (const end = Date.now() + OPEN_MS; ; ) {
    const socket = connect(port, address);
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(50);
    } finally {
      socket.destroy();
    }
  }
}

/**
 * Runs Postfix on an unused loopback address, with configuration and queue in a temporary folder. Port 2525 offers
 * STARTTLS, 465 uses implicit TLS, and 587 has no TLS. AUTH (Cyrus SASL) accepts one user.
 */
export async function startPostfix({ certificate, user }: PostfixOptions): Promise<Postfix> {
  const address = ownLoopback();
  // Postfix's daemons run as another user, who cannot read the temporary folder of `npm test`.
  const folder = await mkdtemp('/tmp/postfix-');
  const at = (...names: string[]): string => join(folder, ...names);
  // Lets the user of Postfix's daemons read the folder.
  await chmod(folder, 0o755);
  const uid = Number(await output('id', ['-u', 'postfix']));
  for (const place of [...PLACES.map((name) => at('queue', name)), at('data'), at('etc', 'sasl')])
    await mkdir(place, { recursive: true });
  for (const place of [
    ...PLACES.filter((name) => name !== 'pid').map((name) => at('queue', name)),
    at('data'),
  ])
    await chown(place, uid, -1);
  await writeFile(at('cert'), certificate.cert);
  await writeFile(at('key'), certificate.key, { mode: 0o600 });
  const settings = {
    compatibility_level: '3.6',
    queue_directory: at('queue'),
    data_directory: at('data'),
    maillog_file: '/dev/stdout',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'mail.example.com',
    mydestination: '',
    alias_maps: '',
    smtpd_tls_cert_file: at('cert'),
    smtpd_tls_key_file: at('key'),
    smtpd_tls_security_level: 'may',
    smtpd_tls_auth_only: 'yes',
    smtpd_sasl_auth_enable: 'yes',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  await writeFile(at('etc', 'main.cf'), lines.join(''));
  const services = [
    `${address}:2525 inet n - n - - smtpd`,
    `${address}:465 inet n - n - - smtpd -o smtpd_tls_wrappermode=yes`,
    `${address}:587 inet n - n - - smtpd -o smtpd_tls_security_level=none -o smtpd_tls_auth_only=no`,
    'anvil unix - - n - 1 anvil',
    'tlsmgr unix - - n 1000? 1 tlsmgr',
    'proxymap unix - - n - - proxymap',
    'rewrite unix - - n - - trivial-rewrite',
    'postlog unix-dgram n - n - 1 postlogd',
  ];
  await writeFile(at('etc', 'master.cf'), services.map((line) => `${line}\n`).join(''));
  const sasl = [
    'pwcheck_method: auxprop',
    'auxprop_plugin: sasldb',
    `sasldb_path: ${at('etc', 'sasl', 'db')}`,
    'mech_list: PLAIN LOGIN CRAM-MD5',
  ];
  await writeFile(at('etc', 'sasl', 'smtpd.conf'), sasl.map((line) => `${line}\n`).join(''));
  const database = ['-p', '-c', '-f', at('etc', 'sasl', 'db'), '-u', user.realm, user.name];
  await output('saslpasswd2', database, user.password);
  await chown(at('etc', 'sasl', 'db'), uid, -1);

  const { file, args, ipc } = tethered(join(PROGRAMS, 'master'), ['-s', '-c', at('etc')]);
  // A process group of its own, so that one signal ends Postfix's main process and all its daemons.
  const child = spawn(file, args, {
    stdio: ['ignore', 'ignore', 'inherit', ...(ipc ? (['ipc'] as const) : [])],
    detached: true,
  });
  const close = async (): Promise<void> => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, 'SIGKILL');
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    for (const port of [2525, 465, 587]) await untilOpen(address, port);
    return { address, port: 2525, close };
  } catch (error) {
    await close();
    throw error;
  }
}
