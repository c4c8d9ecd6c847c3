import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { processTree } from '../../activities/browser/processes.ts';

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process ended before its file was read.
    return '';
  }
}

const pids = (): number[] =>
  readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));

/**
 * Returns every live process whose command line or environment contains `text`, and all descendants of these processes,
 * as `<pid> <command line>`.
 */
export function processesWith(text: string): string[] {
  const named = pids().filter(
    (pid) =>
      pid !== process.pid &&
      ['cmdline', 'environ'].some((file) => read(`/proc/${pid}/${file}`).includes(text)),
  );
  return [...new Set(named.flatMap(processTree))]
    .filter(isAlive)
    .map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`);
}

/** How long ended processes may take to disappear on a loaded machine. */
const GONE_MS = 30_000;

/** Waits until no process matches `text`. Returns those that still match after `ms`. */
export async function remaining(text: string, ms = GONE_MS): Promise<string[]> {
  const deadline = Date.now() + ms;
  for (;;) {
    const left = processesWith(text);
    if (left.length === 0 || Date.now() > deadline) return left;
    await sleep(100);
  }
}

/** Returns the pid of the only process whose command line matches. */
export function pidOf(text: string, command: RegExp): number {
  const found = processesWith(text).filter((line) => command.test(line));
  if (found.length !== 1) throw new Error(`${found.length} processes match ${command}: ${found.join('; ')}`);
  return Number.parseInt(found[0] ?? '', 10);
}

/** Whether a process is alive. Zombies, whose exit code the parent has not collected, count as dead. */
export const isAlive = (pid: number): boolean => {
  const status = read(`/proc/${pid}/status`);
  return status !== '' && !/^State:\s+Z/m.test(status);
};

/**
 * Waits until all of the processes are dead, because the kernel ends the processes of a killed namespace
 * asynchronously. @returns the pids that are alive after `ms`
 */
export async function stillAlive(pids: readonly number[], ms = GONE_MS): Promise<number[]> {
  const deadline = Date.now() + ms;
  for (;;) {
    const left = pids.filter(isAlive);
    if (left.length === 0 || Date.now() > deadline) return left;
    await sleep(50);
  }
}

/** Returns the pids of all descendants of a process whose command line matches. */
export function childrenOf(pid: number, command: RegExp): number[] {
  const parents = new Map(
    pids().map((it) => [it, Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${it}/status`))?.[1])]),
  );
  const descends = (it: number | undefined): boolean =>
    it !== undefined && (it === pid || descends(parents.get(it)));
  return [...parents.keys()].filter(
    (it) => it !== pid && descends(parents.get(it)) && command.test(read(`/proc/${it}/cmdline`)),
  );
}

const linkOf = (path: string): string => {
  try {
    return readlinkSync(path);
  } catch {
    // The file descriptor was closed before it was read.
    return '';
  }
};

/**
 * Returns the TCP ports on which a process and its descendants listen, read from /proc/net/tcp and /proc/net/tcp6
 * (proc_pid_net(5)).
 */
export function portsOf(pid: number): number[] {
  const files = new Set(
    [pid, ...childrenOf(pid, /^/)].flatMap((it) =>
      readdirSync(`/proc/${it}/fd`).map((fd) => linkOf(`/proc/${it}/fd/${fd}`)),
    ),
  );
  const rows = `${read('/proc/net/tcp')}${read('/proc/net/tcp6')}`.matchAll(
    /^ *\d+: [\dA-F]+:([\dA-F]{4}) [\dA-F]+:0000 0A (?:\S+ +){5}(\d+) /gm,
  );
  const ports = [...rows].flatMap(([, port = '', inode]) =>
    files.has(`socket:[${inode}]`) ? [Number.parseInt(port, 16)] : [],
  );
  return [...new Set(ports)];
}
