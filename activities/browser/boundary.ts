import { chown, mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** How a browser is isolated. */
export interface Boundary {
  /**
   * `tree`: network, PID and mount namespaces; the only way out of the network is the proxy, and all processes end together.
   * `network`: a network namespace alone. `none`: only Chromium's flags.
   */
  namespace: 'tree' | 'network' | 'none';
  /** Chromium's own sandbox around its renderers. */
  sandbox: boolean;
}

/** From the strongest to the weakest: the first in which Chromium starts is used. */
export const BOUNDARIES: readonly Boundary[] = [
  { namespace: 'tree', sandbox: true },
  { namespace: 'network', sandbox: true },
  { namespace: 'tree', sandbox: false },
  { namespace: 'network', sandbox: false },
  { namespace: 'none', sandbox: true },
  { namespace: 'none', sandbox: false },
];

/** Describes missing protection for the operator's log; null when all important protection is in place. */
export function weaknessOf({ namespace, sandbox }: Boundary): string | null {
  const missing = [
    ...(namespace === 'none' ? ['a network namespace'] : []),
    ...(sandbox ? [] : ["Chromium's own sandbox"]),
  ];
  return missing.length === 0 ? null : missing.join(' and ');
}

/**
 * User of Chromium when the worker is root: an unused id of the range that systemd reserves for dynamic users
 * (`DynamicUser=`, 61184 to 65519).
 */
const BROWSER_UID = 61_321;
/** Size of a browser's profile, which is a tmpfs. */
const PROFILE_BYTES = 1_000_000_000;

const RELAY = fileURLToPath(new URL('../../egress/relay.ts', import.meta.url));
/** As root, Chromium runs as another user. */
export const isRoot = process.getuid?.() === 0;
const owner = isRoot ? BROWSER_UID : (process.getuid?.() ?? 0);

/** The kernel kills Chromium when the worker ends, also after a SIGKILL. */
const DIE_WITH_PARENT = ['setpriv', '--pdeathsig', 'KILL'];
/** A crash writes no page content to the disk. */
const WITHOUT_CORE = ['prlimit', '--core=0:0', '--'];
/** Without root: the same user in a user namespace, whose capabilities serve loopback and mounts and are dropped below. */
const UNSHARE = ['unshare', ...(isRoot ? [] : ['--user', '--map-current-user', '--keep-caps']), '--net'];
const DROP_PRIVILEGES = isRoot
  ? ['setpriv', `--reuid=${BROWSER_UID}`, `--regid=${BROWSER_UID}`, '--clear-groups', '--']
  : ['setpriv', '--inh-caps=-all', '--ambient-caps=-all', '--'];

/** Loopback is down in a new network namespace. */
const RAISE_LOOPBACK = 'ip link set lo up && shift';
/** Mounted over the empty folder: the files of the browser disappear with the namespace, whichever process is killed. */
const MOUNT_PROFILE = `mount -t tmpfs -o size=${PROFILE_BYTES},mode=0700,uid=${owner},gid=${owner} tmpfs "$1"`;

function namespaceCommand(namespace: Boundary['namespace'], profile: string): string[] {
  if (namespace === 'none') return [];
  const shell = (...steps: string[]) => ['--', 'sh', '-c', steps.join(' && '), 'sh', profile];
  if (namespace === 'network') return [...UNSHARE, ...shell(RAISE_LOOPBACK, 'exec "$@"')];
  const tree = ['--pid', '--fork', '--kill-child=KILL', '--mount-proc'];
  // The shell stays the first process of the namespace: a process that changes its user loses its parent-death signal.
  return [...UNSHARE, ...tree, ...shell(MOUNT_PROFILE, RAISE_LOOPBACK, '"$@"; exit $?')];
}

export interface ChromiumCommand {
  /** Unix socket of the proxy, the only way out in every boundary. */
  socket: string;
  /** Folder of `makeProfile`. */
  profile: string;
  chromium: string;
  flags: readonly string[];
}

/** Command line that starts Chromium inside a boundary. */
export function confine(boundary: Boundary, { socket, profile, chromium, flags }: ChromiumCommand): string[] {
  const sandbox = boundary.sandbox ? [] : ['--no-sandbox'];
  const browser = [...DROP_PRIVILEGES, chromium, ...flags, ...sandbox];
  const relayed = [process.execPath, RELAY, socket, ...browser];
  return [...DIE_WITH_PARENT, ...WITHOUT_CORE, ...namespaceCommand(boundary.namespace, profile), ...relayed];
}

/** Creates a folder that only the browser can read. */
export async function makeProfile(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (isRoot) await chown(path, owner, owner);
}
