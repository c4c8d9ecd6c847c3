import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import { machineEnv } from '../../dev/host.mjs';
import type { Tethered } from '../../dev/tether.ts';

/** A machine in a network of its own. It can be cut off while its connections stay open. */
export interface Machine {
  /** IPv4 address, which this process can reach too. */
  address: string;
  /** Returns a command that runs on the machine. */
  on(command: Tethered): Tethered;
  /** Drops all packets from and to the machine. */
  isolate(): Promise<void>;
  /** Drops the packets between the machine and the others; this process still reaches it. */
  separate(): Promise<void>;
  /** Ends `isolate` and `separate`. */
  reconnect(): Promise<void>;
}

const run = promisify(execFile);
const READY_MS = 60_000;
const COMMAND_MS = 60_000;
/** Part of the block for tests of networks, 198.18.0.0/15 (RFC 2544). Each network is a /24 of it. */
const SUBNETS = 256;

const ip = async (...args: string[]): Promise<void> => {
  await run('ip', args, { env: machineEnv(), timeout: COMMAND_MS });
};

/** Runs `ip` in the network namespace of a process. */
const ipAt = async (pid: number, ...args: string[]): Promise<void> => {
  await run('nsenter', [...namespaceOf(pid), 'ip', ...args], { env: machineEnv(), timeout: COMMAND_MS });
};

const namespaceOf = (pid: number): string[] => [`--net=/proc/${pid}/ns/net`, '--'];

function freeSubnet(): number {
  const used = Object.values(networkInterfaces()).flatMap(
    (list) => list?.map(({ address }) => address) ?? [],
  );
  const isFree = (subnet: number) => !used.some((address) => address.startsWith(`198.18.${subnet}.`));
  const first = process.pid % SUBNETS;
  const subnets = Array.from({ length: SUBNETS }, (_, i) => (first + i) % SUBNETS);
  const free = subnets.find(isFree);
  if (free === undefined) throw new Error('no network is free');
  return free;
}

/** Starts a process that keeps a network namespace open until its stdin closes, even if this process is killed. */
async function openNamespace(open: AsyncDisposableStack): Promise<number> {
  const keeper: ChildProcess = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], {
    env: machineEnv(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { pid, stdin, stdout } = keeper;
  if (pid === undefined || stdin === null || stdout === null) throw new Error('unshare did not start');
  const ended = once(keeper, 'exit');
  open.defer(async () => {
    stdin.end();
    stdout.resume();
    await ended;
  });
  const late = AbortSignal.timeout(READY_MS);
  const failed = ended.then(() => {
    throw new Error('no network namespace can be created; this needs root');
  });
  // After the start, the end of the process is expected.
  failed.catch(() => undefined);
  await Promise.race([once(stdout, 'data', { signal: late }), failed]);
  return pid;
}

/**
 * Creates machines that are connected by a switch. All of it ends with `open`. Needs root.
 *
 * @param count number of machines, at most 250
 */
export async function startNetwork(open: AsyncDisposableStack, count: number): Promise<Machine[]> {
  const subnet = `198.18.${freeSubnet()}`;
  const center = await openNamespace(open);
  await ipAt(center, 'link', 'add', 'switch', 'type', 'bridge');
  await ipAt(center, 'link', 'set', 'switch', 'up');
  const plugIn = async (port: string) => {
    await ipAt(center, 'link', 'set', port, 'master', 'switch');
    await ipAt(center, 'link', 'set', port, 'up');
  };
  const own = `test${process.pid}`;
  await ip('link', 'add', own, 'type', 'veth', 'peer', 'name', 'own', 'netns', String(center));
  await ip('address', 'add', `${subnet}.1/24`, 'dev', own);
  await ip('link', 'set', own, 'up');
  await plugIn('own');

  const addresses = Array.from({ length: count }, (_, i) => `${subnet}.${i + 2}`);
  return Promise.all(
    addresses.map(async (address, index): Promise<Machine> => {
      const pid = await openNamespace(open);
      const port = `port${index}`;
      const others = addresses.filter((other) => other !== address);
      await ipAt(center, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid));
      await ipAt(pid, 'address', 'add', `${address}/24`, 'dev', 'eth0');
      await ipAt(pid, 'link', 'set', 'lo', 'up');
      await ipAt(pid, 'link', 'set', 'eth0', 'up');
      await plugIn(port);
      return {
        address,
        on: ({ file, args, ipc }) => ({ file: 'nsenter', args: [...namespaceOf(pid), file, ...args], ipc }),
        isolate: () => ipAt(center, 'link', 'set', port, 'down'),
        async separate() {
          for (const other of others) await ipAt(pid, 'route', 'add', 'blackhole', other);
        },
        async reconnect() {
          await ipAt(pid, 'route', 'flush', 'type', 'blackhole');
          await ipAt(center, 'link', 'set', port, 'up');
        },
      };
    }),
  );
}
