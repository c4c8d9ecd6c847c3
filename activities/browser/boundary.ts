import { chown, mkdir } from 'node:fs/promises';
import { LISTEN_IN_NAMESPACE } from '../../egress/namespacePort.ts';

/** How a browser is isolated from the network, the files and the other processes of the machine. */
export interface Boundary {
  /**
   * `tree`: network, PID and mount namespaces. The proxy is the only way to reach the network, and all processes of the
   * browser end together. `network`: a network namespace alone. `none`: no namespace; only Chromium's flags send its
   * connections through the proxy.
   */
  namespace: 'tree' | 'network' | 'none';
  /** Whether Chromium's own sandbox for its renderer processes is on. */
  sandbox: boolean;
}

/** All isolation levels, strongest first. A worker uses the first level with which Chromium starts. */
export const BOUNDARIES: readonly Boundary[] = [
  { namespace: 'tree', sandbox: true },
  { namespace: 'network', sandbox: true },
  { namespace: 'tree', sandbox: false },
  { namespace: 'network', sandbox: false },
  { namespace: 'none', sandbox: true },
  { namespace: 'none', sandbox: false },
];

/** Names the important protections that a boundary lacks, for the operator's log; null when it lacks none. */
export function weaknessOf({ namespace, sandbox }: Boundary): string | null {
  const missing = [
    ...(namespace === 'none' ? ['a network namespace'] : []),
    ...(sandbox ? [] : ["Chromium's own sandbox"]),
  ];
  return missing.length === 0 ? null : missing.join(' and ');
}

/**
 * User id of Chromium when the worker runs as root: an unused id of the range that systemd reserves for dynamic users
 * (`DynamicUser=`, 61184 to 65519).
 */
const BROWSER_UID = 61_321;
/** Size limit of the tmpfs that holds a browser's profile. */
const PROFILE_BYTES = 1_000_000_000;

/** Whether the worker runs as root. Chromium then runs as another user. */
export const isRoot = process.getuid?.() === 0;
const owner = isRoot ? BROWSER_UID : (process.getuid?.() ?? 0);

/**
 * Nice value of Chromium. With 7, a process gets a fifth of the CPU time that it would get with 0, so the four browsers of two
 * cores together get about as much as one other process, such as a worker that hashes passwords.
 */
const NICENESS = '7';
/**
 * Gives Chromium a lower CPU priority than the processes that every call needs, so that pages that keep all cores busy delay
 * the start and the end of other calls less. Where Linux groups processes by session, the nice value has no effect between
 * sessions, and the priority of the group is set instead; see "The autogroup feature" in sched(7).
 */
const SET_PRIORITY = '{ echo "$0" >/proc/self/autogroup; } 2>/dev/null; exec nice -n "$0" -- "$@"';
const LOW_PRIORITY = ['sh', '-c', SET_PRIORITY, NICENESS];
/** Makes the kernel kill Chromium when the worker ends, even if the worker is killed with SIGKILL. */
const DIE_WITH_PARENT = ['setpriv', '--pdeathsig', 'KILL'];
/** Turns off core dumps, so that a crash writes no page content to the disk. */
const WITHOUT_CORE = ['prlimit', '--core=0:0', '--'];
/**
 * A worker that is not root creates a user namespace, in which Chromium keeps the worker's user id. The capabilities in
 * that namespace are needed to bring up loopback and to mount the profile; DROP_PRIVILEGES then drops them.
 */
const UNSHARE = ['unshare', ...(isRoot ? [] : ['--user', '--map-current-user', '--keep-caps']), '--net'];
const DROP_PRIVILEGES = isRoot
  ? ['setpriv', `--reuid=${BROWSER_UID}`, `--regid=${BROWSER_UID}`, '--clear-groups', '--']
  : ['setpriv', '--inh-caps=-all', '--ambient-caps=-all', '--'];

/**
 * Brings up the loopback interface, which is down in a new network namespace, and removes the profile path from the
 * shell's arguments.
 */
const RAISE_LOOPBACK = 'ip link set lo up && shift';
/**
 * Mounts a tmpfs over the empty profile folder. The browser's files disappear with the mount namespace, whichever
 * process is killed.
 */
const MOUNT_PROFILE = `mount -t tmpfs -o size=${PROFILE_BYTES},mode=0700,uid=${owner},gid=${owner} tmpfs "$1"`;

function namespaceCommand(namespace: Boundary['namespace'], profile: string): string[] {
  if (namespace === 'none') return [];
  const shell = (...steps: string[]) => ['--', 'sh', '-c', steps.join(' && '), 'sh', profile];
  if (namespace === 'network') return [...UNSHARE, ...shell(RAISE_LOOPBACK, 'exec "$@"')];
  const tree = ['--pid', '--fork', '--kill-child=KILL', '--mount-proc'];
  // Without `exec`, the shell remains the first process of the PID namespace and keeps its parent-death signal. The
  // browser's process would lose that signal when it changes its user.
  return [...UNSHARE, ...tree, ...shell(MOUNT_PROFILE, RAISE_LOOPBACK, '"$@"; exit $?')];
}

/** File descriptor of the IPC channel: the worker's pipes for the DevTools protocol are 3 and 4. */
const CHANNEL = 5;
/**
 * Opens the port of the proxy in the namespace, and then replaces itself by the rest of the arguments, which get the port. They do
 * not inherit the IPC channel, through which the listening socket went to the worker.
 */
const WITH_PROXY = `port=$("$0" "$1") && shift && unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE && exec "$@" --proxy-server="http://127.0.0.1:$port" ${CHANNEL}>&-`;

interface ChromiumCommand {
  /** The profile folder that `makeProfile` created. */
  profile: string;
  chromium: string;
  flags: readonly string[];
}

/**
 * Returns the command line that starts Chromium with the isolation of `boundary`. The proxy behind the port that
 * `receivePort` gets from it is the only way to the network at every isolation level.
 */
export function confine(boundary: Boundary, { profile, chromium, flags }: ChromiumCommand): string[] {
  const sandbox = boundary.sandbox ? [] : ['--no-sandbox'];
  const browser = [...DROP_PRIVILEGES, chromium, ...flags, ...sandbox];
  return [
    ...LOW_PRIORITY,
    ...DIE_WITH_PARENT,
    ...WITHOUT_CORE,
    ...namespaceCommand(boundary.namespace, profile),
    ...['sh', '-c', WITH_PROXY, ...LISTEN_IN_NAMESPACE],
    ...browser,
  ];
}

/** Creates a profile folder that only the user of the browser can access. */
export async function makeProfile(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (isRoot) await chown(path, owner, owner);
}
