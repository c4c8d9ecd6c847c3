import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

// Synchronous: /proc is in memory, and hundreds of small reads cost a tenth of their price in the thread pool.

/** Content of a file of /proc; empty when the process has ended. */
export function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process has ended.
  }
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // The process has ended.
  }
}

/** Ids of a process and its descendants, without those that were reparented. */
export function processTree(pid: number): number[] {
  const children = tasksOf(pid).flatMap((task) =>
    readOrEmpty(`/proc/${pid}/task/${task}/children`)
      .split(' ')
      .filter((item) => item !== ''),
  );
  return [pid, ...children.flatMap((child) => processTree(Number(child)))];
}

const KILOBYTES = /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm;

/** Anonymous and shared memory of processes in bytes (proc_pid_status(5)). */
export function memoryOf(pids: readonly number[]): number {
  const sizes = pids.flatMap((pid) =>
    [...readOrEmpty(`/proc/${pid}/status`).matchAll(KILOBYTES)].map(([, size]) => Number(size)),
  );
  return sizes.reduce((sum, size) => sum + size, 0) * 1024;
}

const GONE_MS = 5_000;
const POLL_MS = 20;

function isAlive(pid: number): boolean {
  const status = readOrEmpty(`/proc/${pid}/status`);
  return status !== '' && !/^State:\s+Z/m.test(status);
}

/** Kills processes and waits until they have ended, which takes the kernel a while for much memory. */
export async function killAll(pids: readonly number[]): Promise<void> {
  const patience = Date.now() + GONE_MS;
  for (let left = pids; left.length > 0 && Date.now() < patience; ) {
    left = left.filter(isAlive);
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended, or belongs to another user; the loop checks again until its time is over.
      }
    }
    if (left.length > 0) await sleep(POLL_MS);
  }
}
