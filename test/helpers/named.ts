import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from '../../dev/ports.ts';
import type { DnsServer } from '../../schemas/envValues.ts';

export interface Named extends DnsServer {
  close(): Promise<void>;
}

async function waitUntilRunning(child: ChildProcess): Promise<void> {
  if (child.stderr === null) throw new Error('named has no log');
  const log: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    log.push(line);
    if (/not loaded due to errors/.test(line)) break;
    if (/ running$/.test(line)) {
      child.stderr.resume();
      return;
    }
  }
  throw new Error(`named did not start:\n${log.slice(-10).join('\n')}`);
}

/**
 * Runs BIND as a child process of the test, on a free loopback port, with its files in a temporary folder.
 *
 * @param zones master files by zone name
 * @param failing zones that BIND forwards to a closed port, so that it responds with SERVFAIL
 */
export async function startNamed(zones: Record<string, string>, failing: readonly string[]): Promise<Named> {
  const folder = await mkdtemp(join(tmpdir(), 'named-'));
  const port = await freePort();
  const configuration = [
    `options { directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };`,
    'pid-file none; session-keyfile none; recursion yes; dnssec-validation no; empty-zones-enable no; notify no; check-names primary ignore; };',
    'controls { };',
    ...Object.keys(zones).map((zone) => `zone "${zone}" { type primary; file "${zone}.zone"; };`),
    ...failing.map(
      (zone) => `zone "${zone}" { type forward; forward only; forwarders { 127.0.0.1 port 1; }; };`,
    ),
  ].join('\n');
  await writeFile(join(folder, 'named.conf'), configuration);
  for (const [zone, text] of Object.entries(zones)) await writeFile(join(folder, `${zone}.zone`), text);
  // Runs a copy, because Debian's AppArmor profile keeps the program at the original path out of temporary folders.
  const program = join(folder, 'named');
  await copyFile('/usr/sbin/named', program);

  // The kernel kills BIND when the test process is killed.
  const withParent = ['--pdeathsig', 'KILL', program];
  const child = spawn('setpriv', [...withParent, '-g', '-n', '1', '-c', join(folder, 'named.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await waitUntilRunning(child);
    return { address: '127.0.0.1', port, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A DNS response as `dig` reports it: the response code, and the records with their data in master-file format. */
export interface DigAnswer {
  status: string;
  records: { owner: string; ttl: number; type: string; data: string }[];
}

function parseDig(text: string): DigAnswer {
  const records = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(';'))
    .map((line) => {
      const [, owner = '', ttl, type = '', data = ''] =
        /^(\S+)\s+(\d+)\s+IN\s+(\S+)\s+(.*)$/.exec(line) ?? [];
      return { owner, ttl: Number(ttl), type, data };
    });
  return { status: /status: (\w+)/.exec(text)?.[1] ?? '', records };
}

/** Queries with `dig`, BIND's client, as a reference. Returns one response for each type, in order. */
export async function dig(server: DnsServer, name: string, types: readonly string[]): Promise<DigAnswer[]> {
  // dig converts international names by IDNA 2008, which forbids leading hyphens, so the conversion is off for ASCII
  // names.
  const idn = /[^\p{ASCII}]/u.test(name) ? '+idnin' : '+noidnin';
  const options = ['+noall', '+comments', '+answer', idn];
  const { stdout } = await promisify(execFile)(
    'dig',
    [
      `@${server.address}`,
      '-p',
      `${server.port}`,
      ...options,
      ...types.flatMap((type) => ['-q', name, '-t', type]),
    ],
    { env: { ...process.env, LC_ALL: 'C.UTF-8' } },
  );
  const answers = stdout
    .split(/^;; Got answer:$/m)
    .slice(1)
    .map(parseDig);
  if (answers.length !== types.length) throw new Error(`dig did not answer every question:\n${stdout}`);
  return answers;
}
