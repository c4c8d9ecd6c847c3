import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';

/** Facts that the simulated host reports: versions of the engine, Compose and the kernel, and whether `chown` works. */
interface Host {
  /** Whether the engine can be reached. */
  engine: boolean;
  version: string;
  cpus: string;
  security: string;
  /** Null if the plugin is missing. */
  compose: string | null;
  /** Settings below /proc/sys. Others do not exist. */
  kernel: Record<string, string>;
  chown: boolean;
}

const HOST: Host = {
  engine: true,
  version: '24.0.0',
  cpus: '2',
  security: '[name=apparmor name=seccomp,profile=builtin name=cgroupns]',
  compose: 'v2.20.0',
  kernel: {},
  chown: true,
};
const SECRETS = [
  ...['master_keys', 'mongodb_gateway_uri', 'mongodb_keyfile', 'mongodb_root_password', 'mongodb_uri'],
  ...['otlp_headers', 'postgres_password', 'smtp_url', 'stripe_secret_key', 'stripe_webhook_secret'],
];

/** Creates a copy of the project that contains docker/prepare.sh and .env. @returns a function that runs the script */
function project(t: { teardown(end: () => void): void }) {
  const folder = mkdtempSync(join(tmpdir(), 'prepare-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['docker', 'bin']) mkdirSync(join(folder, name));
  copyFileSync('docker/prepare.sh', join(folder, 'docker/prepare.sh'));
  writeFileSync(join(folder, '.env'), '');
  /** Creates a substitute for a program. */
  const program = (name: string, body: string) => {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  };
  const run = (host: Partial<Host> = {}, ...args: string[]) => {
    const { engine, version, cpus, security, compose, kernel, chown } = { ...HOST, ...host };
    program(
      'docker',
      `case "$*" in
        'compose version --short') ${compose === null ? 'exit 1' : `echo ${compose}`} ;;
        *) ${engine ? '' : 'echo "Cannot connect to the Docker daemon" >&2; exit 1'}
          case "$*" in
            'version --format {{.Server.Version}}') echo '${version}' ;;
            'info --format {{.NCPU}}') echo '${cpus}' ;;
            'info --format {{.SecurityOptions}}') echo '${security}' ;;
            *) exit 2 ;;
          esac ;;
      esac`,
    );
    const settings = Object.entries(kernel).map(([name, value]) => `/proc/sys/${name}) echo ${value} ;;`);
    program('cat', `case "$1" in ${settings.join(' ')} /proc/sys/*) exit 1 ;; *) exec /bin/cat "$@" ;; esac`);
    program('stat', 'echo 4711');
    program('chown', chown ? ':' : 'echo "Operation not permitted" >&2; exit 1');
    const { status, stdout, stderr } = spawnSync('sh', [join(folder, 'docker/prepare.sh'), ...args], {
      encoding: 'utf8',
      env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` },
      timeout: 30_000,
    });
    return { status, stdout, lines: stderr.split('\n').filter((line) => line !== '') };
  };
  return { folder, secrets: join(folder, 'secrets'), run };
}

test('on a suitable host, all secrets are created once, readable by their owner only', (t) => {
  const { secrets, run } = project(t);
  t.deepEqual(run(), { status: 0, stdout: '', lines: [] });
  t.deepEqual(readdirSync(secrets).sort(), SECRETS);
  const contents = () => SECRETS.map((name) => readFileSync(join(secrets, name), 'utf8'));
  const first = contents();
  for (const name of SECRETS) t.is(statSync(join(secrets, name)).mode & 0o777, 0o600, name);
  t.is(statSync(secrets).mode & 0o777, 0o700);
  t.regex(first[0] ?? '', /^prod1:[A-Za-z0-9+/]{43}=\n$/);
  t.is(run().status, 0);
  t.deepEqual(contents(), first);
});

test('secrets differ between installations', (t) => {
  const [one, other] = [project(t), project(t)];
  for (const { run } of [one, other]) t.is(run().status, 0);
  for (const name of SECRETS.slice(0, 5).concat('postgres_password')) {
    const [left, right] = [one, other].map(({ secrets }) => readFileSync(join(secrets, name), 'utf8'));
    t.not(left, right, name);
  }
});

const FAULTS: [what: string, host: Partial<Host>, line: RegExp][] = [
  ['no engine', { engine: false }, /the Docker engine cannot be reached\. Install Docker 24 or later/],
  ['an old engine', { version: '20.10.24+dfsg1' }, /Docker engine 20\.10\.24\+dfsg1 is too old\. Install/],
  ['an engine of unknown version', { version: 'dev' }, /Docker engine dev is too old\. Install version 24/],
  ['one CPU', { cpus: '1' }, /the Docker engine has 1 CPU\. At least two are required\./],
  ['no Compose plugin', { compose: null }, /docker compose v2 is missing\. Install the package/],
  ['Compose 1', { compose: '1.29.2' }, /docker compose v2 is missing\. Install the package/],
  [
    'a rootless engine',
    { security: '[name=seccomp name=rootless]' },
    /Docker runs rootless\. .* Use an engine/,
  ],
  [
    'AppArmor that restricts user namespaces',
    { kernel: { 'kernel/apparmor_restrict_unprivileged_userns': '1' } },
    /AppArmor restricts user namespaces.* Run: sysctl -w kernel\.apparmor_restrict_unprivileged_userns=0,/,
  ],
  [
    'a kernel without unprivileged user namespaces',
    { kernel: { 'kernel/unprivileged_userns_clone': '0' } },
    /user namespaces are disabled\. Run: sysctl -w kernel\.unprivileged_userns_clone=1,/,
  ],
  [
    'a limit of no user namespaces',
    { kernel: { 'user/max_user_namespaces': '0' } },
    /user namespaces are disabled\. Run: sysctl -w user\.max_user_namespaces=15000,/,
  ],
];
for (const [what, host, line] of FAULTS)
  test(`${what} is reported in one line`, (t) => {
    const { status, stdout, lines } = project(t).run(host, '--check');
    t.deepEqual([status, stdout, lines.length], [1, '', 1], lines.join('\n'));
    t.regex(lines[0] ?? '', new RegExp(`^prepare: ${line.source}`));
  });

test('several problems are reported together, and newer versions of Compose are accepted', (t) => {
  const { status, lines } = project(t).run({ version: '23.0.6', cpus: '1', compose: 'v5.0.1' });
  t.deepEqual([status, lines.length], [1, 2], lines.join('\n'));
});

test('a missing .env is reported in one line', (t) => {
  const { folder, run } = project(t);
  rmSync(join(folder, '.env'));
  const { status, lines } = run();
  t.deepEqual([status, lines.length], [1, 1]);
  t.regex(lines[0] ?? '', /^prepare: the file \.env is missing\. Run: cp \.env\.example \.env, then set/);
});

test('secrets that belong to another user are reported in one line', (t) => {
  const { run } = project(t);
  const { status, lines } = run({ chown: false });
  t.deepEqual([status, lines.length], [1, 1]);
  t.regex(
    lines[0] ?? '',
    /^prepare: secrets\/ must belong to uid 1000.* Run: sudo chown -R 1000:1000 secrets$/,
  );
});

test('--check creates no secrets, and an unknown option explains the usage', (t) => {
  const { secrets, run } = project(t);
  t.is(run({}, '--check').status, 0);
  t.false(existsSync(secrets));
  const { status, lines } = run({}, '--force');
  t.is(status, 2);
  t.regex(lines.join(), /^Usage: docker\/prepare\.sh \[--check\]/);
  t.false(existsSync(secrets));
});
