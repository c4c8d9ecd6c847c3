import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { processTree } from '../../activities/browser/processes.ts';

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process ended meanwhile.
    return '';
  }
}

const pids = (): number[] =>
  readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));

/**
 * Returns every living process with `text` in its command line or environment, and all descendants, as `<pid>
 * <command line>`.
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

/** Waits until no such process exists. Returns those that remain after `ms`. */
export async function remaining(text: string, ms: number): Promise<string[]> {
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

/** Zombies, dead processes whose exit code has not been collected, are not alive. */
export const isAlive = (pid: number): boolean => {
  const status = read(`/proc/${pid}/status`);
  return status !== '' && !/^State:\s+Z/m.test(status);
};

/**
 * Waits until all of them are dead, because the kernel ends a killed namespace asynchronously. @returns those
 * that remain after `ms`
 */
export async function stillAlive(pids: readonly number[], ms: number): Promise<number[]> {
  const deadline = Date.now() + ms;
  for (;;) {
    const left = pids.filter(isAlive);
    if (left.length === 0 || Date.now() > deadline) return left;
    await sleep(50);
  }
}

/** Returns the descendants of a process whose command line matches. */
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
    // It was closed meanwhile.
    return '';
  }
};

/** Returns the TCP ports on which a process and its descendants listen, from proc_pid_net(5). */
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
