import { chown, mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** How a browser is shut in. */
export interface Boundary {
  /**
   * `tree`: a network of its own whose only way out is the proxy, and processes and files of its own that end as one.
   * `network`: only the network. `none`: nothing but what Chromium's flags ask of it.
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

/** What is missing of the strongest, for the operator; null when nothing that matters is. */
export function weaknessOf({ namespace, sandbox }: Boundary): string | null {
  const missing = [
    ...(namespace === 'none' ? ['a network namespace'] : []),
    ...(sandbox ? [] : ["Chromium's own sandbox"]),
  ];
  return missing.length === 0 ? null : missing.join(' and ');
}

/**
 * Whom Chromium runs as where we are root: nobody else's number, in the range that systemd keeps for users that come and
 * go (`DynamicUser=`, 61184 to 65519).
 */
const BROWSER_UID = 61_321;
/** Of a browser's own files, which lie in memory. */
const PROFILE_BYTES = 1_000_000_000;

const RELAY = fileURLToPath(new URL('../../egress/relay.ts', import.meta.url));
/** Chromium runs as another user then. */
export const isRoot = process.getuid?.() === 0;
const owner = isRoot ? BROWSER_UID : (process.getuid?.() ?? 0);

/** Ends with us, even when we are killed. */
const DIE_WITH_PARENT = ['setpriv', '--pdeathsig', 'KILL'];
/** What pages hold gets to no disk when Chromium crashes. */
const WITHOUT_CORE = ['prlimit', '--core=0:0', '--'];
/** As the same user in a user namespace; the capabilities there are for loopback and mounts alone and dropped below. */
const UNSHARE = ['unshare', ...(isRoot ? [] : ['--user', '--map-current-user', '--keep-caps']), '--net'];
const DROP_PRIVILEGES = isRoot
  ? ['setpriv', `--reuid=${BROWSER_UID}`, `--regid=${BROWSER_UID}`, '--clear-groups', '--']
  : ['setpriv', '--inh-caps=-all', '--ambient-caps=-all', '--'];

/** Loopback is down in a new network. */
const RAISE_LOOPBACK = 'ip link set lo up && shift';
/** Over the empty folder: what the browser writes is gone with the namespace, whoever is killed when. */
const MOUNT_PROFILE = `mount -t tmpfs -o size=${PROFILE_BYTES},mode=0700,uid=${owner},gid=${owner} tmpfs "$1"`;

function namespaceCommand(namespace: Boundary['namespace'], profile: string): string[] {
  if (namespace === 'none') return [];
  const shell = (...steps: string[]) => ['--', 'sh', '-c', steps.join(' && '), 'sh', profile];
  if (namespace === 'network') return [...UNSHARE, ...shell(RAISE_LOOPBACK, 'exec "$@"')];
  const tree = ['--pid', '--fork', '--kill-child=KILL', '--mount-proc'];
  // The shell stays as the first process of the tree, because a process that changes its user is no longer tethered.
  return [...UNSHARE, ...tree, ...shell(MOUNT_PROFILE, RAISE_LOOPBACK, '"$@"; exit $?')];
}

export interface ChromiumCommand {
  /** Unix socket of the proxy; the way out in every boundary. */
  socket: string;
  /** Of `makeProfile`. */
  profile: string;
  chromium: string;
  flags: readonly string[];
}

/** Chromium's command line behind a boundary. */
export function confine(boundary: Boundary, { socket, profile, chromium, flags }: ChromiumCommand): string[] {
  const sandbox = boundary.sandbox ? [] : ['--no-sandbox'];
  const browser = [...DROP_PRIVILEGES, chromium, ...flags, ...sandbox];
  const relayed = [process.execPath, RELAY, socket, ...browser];
  return [...DIE_WITH_PARENT, ...WITHOUT_CORE, ...namespaceCommand(boundary.namespace, profile), ...relayed];
}

/** A folder that the browser alone uses. */
export async function makeProfile(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  if (isRoot) await chown(path, owner, owner);
}
