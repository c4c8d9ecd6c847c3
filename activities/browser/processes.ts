import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const readOrEmpty = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

async function childrenOf(pid: number): Promise<number[]> {
  const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(tasks.map((task) => readOrEmpty(`/proc/${pid}/task/${task}/children`)));
  return lists.flatMap((list) => list.split(' ').filter((item) => item !== '')).map(Number);
}

/** A process and all that came of it, as far as they are still under it. */
export async function processTree(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  return [pid, ...(await Promise.all(children.map(processTree))).flat()];
}

const KILOBYTES = /^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm;

/** Bytes of memory that processes hold and that no file stands behind (proc_pid_status(5)). */
export async function memoryOf(pids: readonly number[]): Promise<number> {
  const statuses = await Promise.all(pids.map((pid) => readOrEmpty(`/proc/${pid}/status`)));
  const sizes = statuses.flatMap((status) => [...status.matchAll(KILOBYTES)].map(([, size]) => Number(size)));
  return sizes.reduce((sum, size) => sum + size, 0) * 1024;
}

const GONE_MS = 5_000;
const POLL_MS = 20;

async function isAlive(pid: number): Promise<boolean> {
  const status = await readOrEmpty(`/proc/${pid}/status`);
  return status !== '' && !/^State:\s+Z/m.test(status);
}

/** Kills processes, and waits until the kernel has done it: with much memory that takes a while. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  const patience = Date.now() + GONE_MS;
  for (let left = pids; left.length > 0 && Date.now() < patience; ) {
    const alive = await Promise.all(left.map(isAlive));
    left = left.filter((_, index) => alive[index]);
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {}
    }
    if (left.length > 0) await sleep(POLL_MS);
  }
}
