import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ServiceError } from '../../schemas/errors.ts';
import { endAbandoned, ownerMark } from './orphanedProcesses.ts';

/** What a process in a sandbox may use up. */
export interface SandboxLimits {
  /** Address space of each process. */
  memoryBytes: number;
  cpuSeconds: number;
  /** Largest file, and all files together: they lie in memory. */
  fileBytes: number;
  scratchBytes: number;
  openFiles: number;
  /** Threads count. */
  processes: number;
}

export interface SandboxOptions {
  /** Run by sh; `$1` and so on are `args`. Its only place to write is `/tmp`, where it starts. */
  script: string;
  args: readonly string[];
  /** Folders of the host that it may read, beside programs, libraries and fonts. */
  folders: readonly string[];
  limits: SandboxLimits;
}

/** A process tree shut in: no network, no file of the host but programs and fonts, no trace when it ends. */
export interface Sandboxed {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  /** Resolves with the exit code, null after a signal, when the whole tree is gone. */
  exited: Promise<number | null>;
  kill(): void;
}

export interface Sandbox {
  start(options: SandboxOptions): Sandboxed;
}

/** Nobody else's number, in the range that systemd keeps for users that come and go (61184 to 65519). */
const UID = 61_322;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const PROBE_MS = 30_000;
const MARK = 'sandbox';

/** Where Debian and its relatives keep programs and libraries. /usr/local and /etc as such stay outside. */
const READABLE = ['/usr/bin', '/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libexec', '/usr/share'];
const READABLE_IF_THERE = [
  ...READABLE,
  '/usr/local/share/fonts',
  '/etc/alternatives',
  '/etc/fonts',
  '/etc/ld.so.cache',
  '/var/cache/fontconfig',
];
const LINKS = ['bin', 'lib', 'lib32', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]);

const bind = (path: string): string[] => ['--ro-bind-try', path, path];

/**
 * The limits are set inside, by the shell, before anything else runs: hard ones, which nobody there can raise.
 * /etc/passwd has the one user that there is.
 */
const PRELUDE = `set -u
ulimit -c 0 && ulimit -v "$1" && ulimit -t "$2" && ulimit -f "$3" && ulimit -n "$4" && ulimit -p "$5" || exit 70
echo "user:x:${UID}:${UID}::/tmp:/bin/sh" > /etc/passwd
shift 5
`;

function commandLine({ script, args, folders, limits }: SandboxOptions): string[] {
  return [
    'bwrap',
    ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...['--uid', `${UID}`, '--gid', `${UID}`, '--hostname', 'sandbox'],
    ...[
      '--clearenv',
      '--setenv',
      'PATH',
      '/usr/bin',
      '--setenv',
      'HOME',
      '/tmp',
      '--setenv',
      'LANG',
      'C.UTF-8',
    ],
    ...['--size', '65536', '--tmpfs', '/etc'],
    ...READABLE_IF_THERE.flatMap(bind),
    ...LINKS,
    ...folders.flatMap(bind),
    ...['--proc', '/proc', '--dev', '/dev', '--remount-ro', '/dev'],
    ...['--size', `${limits.scratchBytes}`, '--tmpfs', '/tmp', '--chdir', '/tmp', '--remount-ro', '/'],
    // What the shell is called is seen in the command line of all of this.
    ...['/bin/sh', '-c', PRELUDE + script, ownerMark(MARK)],
    // dash counts address space in KB and files in blocks of 512 bytes.
    ...[Math.floor(limits.memoryBytes / 1024), limits.cpuSeconds, Math.floor(limits.fileBytes / 512)].map(
      String,
    ),
    ...[limits.openFiles, limits.processes].map(String),
    ...args,
  ];
}

/**
 * Ways to become what bubblewrap starts from, the better first: a user who is nobody, or root where only root may make
 * namespaces.
 */
const WAYS: readonly (readonly string[])[] =
  process.getuid?.() === 0
    ? [['setpriv', `--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', '--no-new-privs', '--'], []]
    : [[]];

function run(command: readonly string[]): Sandboxed {
  const [file = '', ...args] = command;
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(file, args, {
    env: { PATH },
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own: a signal to ours, such as Ctrl-C, is not for it.
    detached: true,
  });
  // It may end before it has read everything.
  child.stdin.on('error', () => undefined);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  exited.catch(() => undefined);
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    kill() {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      // The first process of the tree goes with bubblewrap, and the kernel ends the rest of the tree with that one.
      process.kill(-child.pid, 'SIGKILL');
    },
  };
}

/**
 * Finds the way in which bubblewrap works here. What it starts dies with this process, however this process ends; only
 * what was about to start when an earlier one was killed may have stayed, and is ended first.
 *
 * @throws ServiceError tool_unavailable when it works in none: nothing ever runs outside of it
 */
export async function openSandbox(): Promise<Sandbox> {
  await endAbandoned(MARK);
  const faults: string[] = [];
  for (const way of WAYS) {
    const start = (options: SandboxOptions) => run([...way, ...commandLine(options)]);
    const limits = { memoryBytes: 2 ** 30, cpuSeconds: 5, fileBytes: 2 ** 20, scratchBytes: 2 ** 20 };
    const probe = start({
      script: 'echo works',
      args: [],
      folders: [],
      limits: { ...limits, openFiles: 64, processes: 64 },
    });
    const timer = setTimeout(probe.kill, PROBE_MS);
    try {
      const [output, fault] = await Promise.all([text(probe.stdout), text(probe.stderr), probe.exited]);
      if (output === 'works\n') return { start };
      faults.push(fault.trim());
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
    } finally {
      clearTimeout(timer);
    }
  }
  throw new ServiceError('tool_unavailable', {
    detail: 'This installation cannot shut in the program that the tool needs.',
    cause: new Error(`bubblewrap is missing or may not make namespaces: ${faults.join('; ')}`),
  });
}
