import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

// These functions read /proc synchronously: its files are in memory, and hundreds of small asynchronous reads would be
// ten times as expensive, because each goes through the thread pool.

/** Returns the content of a file below /proc, or '' when the process has ended. */
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

/**
 * Returns the ids of a process and its descendants, except descendants that were reparented because their parent
 * exited.
 */
export function processTree(pid: number): number[] {
  const children = tasksOf(pid).flatMap((task) =>
    readOrEmpty(`/proc/${pid}/task/${task}/children`)
      .split(' ')
      .filter((item) => item !== ''),
  );
  return [pid, ...children.flatMap((child) => processTree(Number(child)))];
}

const KILOBYTES = /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm;

/**
 * Sums the resident anonymous and shared memory of processes, in bytes (RssAnon and RssShmem of proc_pid_status(5)).
 */
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

/**
 * Kills processes and waits until they have exited. The kernel takes some time to free the memory of a large process.
 */
export async function killAll(pids: readonly number[]): Promise<void> {
  const patience = Date.now() + GONE_MS;
  for (let left = pids; left.length > 0 && Date.now() < patience; ) {
    left = left.filter(isAlive);
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has exited, or belongs to another user. The loop checks it again until the time limit.
      }
    }
    if (left.length > 0) await sleep(POLL_MS);
  }
}
