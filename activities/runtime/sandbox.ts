import { spawn } from 'node:child_process';
import { Duplex, type Readable, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ServiceError } from '../../schemas/errors.ts';
import { killOrphans, ownerMark } from './orphanedProcesses.ts';
import { programVariables } from './programs.ts';

export interface SandboxLimits {
  /** Maximum address space of each process, in bytes. */
  memoryBytes: number;
  cpuSeconds: number;
  /** Maximum size of one file, in bytes. */
  fileBytes: number;
  /** Maximum size of all files together, in bytes. The files are kept in memory. */
  scratchBytes: number;
  openFiles: number;
  /** Maximum number of processes and threads together. */
  processes: number;
}

interface SandboxOptions {
  /** Shell script; `args` are `$1` and up. Starts in `/tmp`, the only writable folder. */
  script: string;
  args: readonly string[];
  /** Host folders that the script may read in addition to programs, libraries and fonts. */
  folders: readonly string[];
  /** Environment variables of the script in addition to PATH, HOME and LANG. Default: none. */
  variables?: Readonly<Record<string, string>>;
  limits: SandboxLimits;
  /** Number of sockets to the script, which are the script's file descriptors 3 and up. Default: 0. */
  channels?: number;
}

/** A process tree without access to the network and to host files, except programs and fonts. It leaves no files behind. */
export interface SandboxedProcess {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  channels: readonly Duplex[];
  /** Resolves when the whole process tree has ended, to the exit code, or to null after a signal. */
  exited: Promise<number | null>;
  kill(): void;
}

export interface Sandbox {
  start(options: SandboxOptions): SandboxedProcess;
}

/** User id that no other user has: from systemd's range for dynamic users (61184 to 65519). */
const UID = 61_322;
const PROBE_MS = 30_000;
const MARK = 'sandbox';

/** Host folders of programs and libraries in Debian and its derivatives. /usr/local and most of /etc are excluded. */
const READABLE = ['/usr/bin', '/usr/lib', '/usr/lib32', '/usr/lib64', '/usr/libexec', '/usr/share'];
const READABLE_IF_PRESENT = [
  ...READABLE,
  '/usr/local/share/fonts',
  '/etc/alternatives',
  '/etc/fonts',
  '/etc/ld.so.cache',
  '/var/cache/fontconfig',
];
const LINKS = ['bin', 'lib', 'lib32', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]);

const bind = (path: string): string[] => ['--ro-bind-try', path, path];

/** Shell code that sets hard limits, which the script cannot raise, and writes /etc/passwd with the sandbox's only user. */
const PRELUDE = `set -u
ulimit -c 0 && ulimit -v "$1" && ulimit -t "$2" && ulimit -f "$3" && ulimit -n "$4" && ulimit -p "$5" || exit 70
echo "user:x:${UID}:${UID}::/tmp:/bin/sh" > /etc/passwd
shift 5
`;

function commandLine({ script, args, folders, variables = {}, limits }: SandboxOptions): string[] {
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
    ...Object.entries(variables).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--size', '65536', '--tmpfs', '/etc'],
    ...READABLE_IF_PRESENT.flatMap(bind),
    ...LINKS,
    ...['--proc', '/proc', '--dev', '/dev', '--remount-ro', '/dev'],
    ...['--size', `${limits.scratchBytes}`, '--tmpfs', '/tmp', '--chdir', '/tmp'],
    // After /tmp, because a folder may be below the host's /tmp.
    ...folders.flatMap(bind),
    ...['--remount-ro', '/'],
    // The shell's $0 marks the command line, so that `killOrphans` finds the process.
    ...['/bin/sh', '-c', PRELUDE + script, ownerMark(MARK)],
    // dash's ulimit takes the address space in KB and the file size in blocks of 512 bytes.
    ...[Math.floor(limits.memoryBytes / 1024), limits.cpuSeconds, Math.floor(limits.fileBytes / 512)].map(
      String,
    ),
    ...[limits.openFiles, limits.processes].map(String),
    ...args,
  ];
}

/**
 * Command prefixes to start bubblewrap with, the safest first: as an unprivileged user, or as root on systems where only
 * root may create namespaces.
 */
const PREFIXES: readonly (readonly string[])[] =
  process.getuid?.() === 0
    ? [['setpriv', `--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', '--no-new-privs', '--'], []]
    : [[]];

/**
 * Makes the kernel kill the program when this process ends. The shell ends at once if that happened before `setpriv` asked for
 * the signal: it then has another parent. Comes after a change of the user, which clears the parent-death signal.
 */
const DIE_WITH_OWNER = [
  ...['setpriv', '--pdeathsig', 'KILL', '--'],
  ...['sh', '-c', '[ "$PPID" = "$0" ] && exec "$@"', `${process.pid}`],
];

function run(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
  channels = 0,
): SandboxedProcess {
  const [file = '', ...args] = command;
  const child = spawn(file, args, {
    env,
    cwd: '/',
    stdio: ['pipe', 'pipe', 'pipe', ...Array<'pipe'>(channels).fill('pipe')],
    // A separate process group, so that Ctrl-C does not signal it.
    detached: true,
  });
  // An EPIPE error occurs when the program exits before it has read all input.
  child.stdin.on('error', () => undefined);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  // Prevents an unhandled rejection if the program cannot be started before anything awaits `exited`.
  exited.catch(() => undefined);
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    channels: child.stdio.slice(3).filter((stream) => stream instanceof Duplex),
    exited,
    kill() {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      // Killing bubblewrap ends the first process of the PID namespace. The kernel then kills all others in it.
      process.kill(-child.pid, 'SIGKILL');
    },
  };
}

/**
 * Finds out how bubblewrap can be started on this machine. Sandboxed processes end with this process, even if it is killed.
 * First kills sandboxed processes that an earlier, killed worker left behind.
 *
 * @param programs folder of unpacked Debian packages (PROGRAMS_DIR), which contains bubblewrap unless it is installed
 * @throws ServiceError tool_unavailable when bubblewrap does not work; programs never run outside the sandbox
 */
export async function openSandbox(programs: string | null = null): Promise<Sandbox> {
  await killOrphans(MARK);
  const faults: string[] = [];
  const env = programVariables(programs);
  for (const prefix of PREFIXES) {
    const start = (options: SandboxOptions) =>
      run([...prefix, ...DIE_WITH_OWNER, ...commandLine(options)], env, options.channels);
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
    detail: 'This installation cannot sandbox the program that the tool needs.',
    cause: new Error(`bubblewrap is missing or may not create namespaces: ${faults.join('; ')}`),
  });
}
