import { globSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A wall clock that the test can change, for other processes. */
export interface Clock {
  /** Environment variables for the processes that use the clock. Their monotonic clocks are not affected. */
  env: Record<string, string>;
  /** Sets by how many seconds the clock differs from the correct time. */
  jumpTo(seconds: number): Promise<void>;
}

/**
 * Creates a clock for processes that start with its environment variables. It shows the correct time until `jumpTo`.
 */
export async function createClock(open: AsyncDisposableStack): Promise<Clock> {
  const [library] = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1');
  if (library === undefined) throw new Error('libfaketime is not installed');
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
