import { spawnSync } from 'node:child_process';
import { mkdtemp, rmdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A disk in memory that can fill up. */
export interface SmallDisk {
  path: string;
  /** Leaves no space. */
  fill(): Promise<void>;
  /** Restores the space. */
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

/** Mounts a disk, which is unmounted with `open`. @param size such as `700m` */
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
        // Fails if more was written meanwhile.
        if (run('mount', resize(String((blocks - bfree) * bsize)))) return;
        await sleep(10);
      }
      throw new Error('the disk could not be filled');
    },
    free: () => mustRun('mount', resize(size)),
  };
}
