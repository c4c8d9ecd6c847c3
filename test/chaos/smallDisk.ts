import { spawnSync } from 'node:child_process';
import { mkdtemp, rmdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A small file system in memory that a test can fill up. */
export interface SmallDisk {
  path: string;
  /** Shrinks the file system until no space is free. */
  fill(): Promise<void>;
  /** Restores the original size. */
  free(): void;
}

const ATTEMPTS = 100;

function run(file: string, args: string[]): boolean {
  const { status } = spawnSync(file, args, { stdio: ['ignore', 'ignore', 'ignore'] });
  return status === 0;
}

function mustRun(file: string, args: string[]): void {
  if (!run(file, args)) throw new Error(`${file} ${args.join(' ')} failed; it needs root`);
}

/** Mounts a file system in memory, which is unmounted when `open` is disposed. @param size such as `700m` */
export async function mountDisk(open: AsyncDisposableStack, size: string): Promise<SmallDisk> {
  const path = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-disk-')), rmdir);
  mustRun('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]);
  open.defer(() => mustRun('umount', ['-l', path]));
  const resize = (to: string) => ['-o', `remount,size=${to}`, path];
  return {
    path,
    async fill() {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const { blocks, bfree, bsize } = await statfs(path);
        // Shrinking fails if a process has written more in the meantime, so it is retried.
        if (run('mount', resize(String((blocks - bfree) * bsize)))) return;
        await sleep(10);
      }
      throw new Error('the disk could not be filled');
    },
    free: () => mustRun('mount', resize(size)),
  };
}
