import { globSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../helpers/processes.ts';

/** A wall clock that the test can change, for other processes. */
export interface Clock {
  /** Environment variables for the processes that use the clock. Their monotonic clocks are not affected. */
  env: Record<string, string>;
  /** Sets by how many seconds the clock differs from the correct time. */
  jumpTo(seconds: number): Promise<void>;
}

/** Where Linux has the semaphores and the shared memory of programs. */
const SHARED_MEMORY = '/dev/shm';
/** Semaphore and shared memory that libfaketime 0.9.10 creates in each process; their names end with the pid. */
const SHARED_BY_PROCESS = /^(?:sem\.faketime_sem|faketime_shm)_(\d+)$/;

/** Removes what killed processes have left behind; a process that exits by itself removes its own. */
async function removeShared(): Promise<void> {
  for (const name of await readdir(SHARED_MEMORY)) {
    const pid = SHARED_BY_PROCESS.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(SHARED_MEMORY, name), { force: true });
  }
}

/**
 * Creates a clock for processes that start with its environment variables. It shows the correct time until `jumpTo`. The
 * processes must have ended before `open` is disposed.
 */
export async function createClock(open: AsyncDisposableStack): Promise<Clock> {
  const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
  if (library === undefined) throw new Error('libfaketime is not installed');
  open.defer(removeShared);
  const folder = open.adopt(await mkdtemp(join(tmpdir(), 'utility-tools-clock-')), (it) =>
    rm(it, { recursive: true }),
  );
  const file = join(folder, 'clock');
  const jumpTo = (seconds: number) => writeFile(file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  await jumpTo(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    jumpTo,
  };
}
