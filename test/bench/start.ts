import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npmStart } from '../helpers/npm-start.ts';
import type { Sizes } from './sizes.ts';

/**
 * Measures the seconds from `npm start` until it prints that the service is ready: `first` with an empty data folder,
 * `second` when the folder has data.
 */
export async function benchStart({ rounds }: Sizes['start']): Promise<{ first: number; second: number }> {
  await using open = new AsyncDisposableStack();
  const dataDir = open.adopt(await mkdtemp(join(tmpdir(), 'bench-start-')), (it) =>
    rm(it, { recursive: true, force: true }),
  );
  const start = async (): Promise<number> => {
    const began = performance.now();
    const started = npmStart({ DATA_DIR: dataDir, PORT: '0', INTERNAL_PORT: '0' });
    try {
      await started.ready();
      return (performance.now() - began) / 1000;
    } finally {
      started.kill('SIGTERM');
      await started.exited;
    }
  };
  const first = await start();
  const later: number[] = [];
  for (let round = 0; round < rounds; round++) later.push(await start());
  return { first, second: later.sort((a, b) => a - b)[later.length >> 1] ?? Number.NaN };
}
