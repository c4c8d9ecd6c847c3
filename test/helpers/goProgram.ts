import { join } from 'node:path';
import { clientEnv } from '../../dev/host.mjs';
import { findOrFetch } from '../../dev/programs/find.ts';
import { findGo } from '../../dev/programs/go.ts';
import { run } from '../../dev/programs/run.ts';

const FETCH = { idleMs: 120_000, totalMs: 600_000 };

/**
 * Path of a program that is written in Go: the one on PATH or in this user's cache, else built from its module.
 *
 * @param source of its main package, with the version
 * @param built what `go install` calls it: the last part of that package's path
 */
export const findGoProgram = (
  { name, source, built }: { name: string; source: string; built: string },
  log: (line: string) => void,
): Promise<string> =>
  findOrFetch(
    {
      name,
      help: `${name} so that it is on PATH, or Go to build it.`,
      ways: [
        {
          title: 'by building it with Go',
          async fetch(folder, _log, signal) {
            const go = await findGo(log, signal);
            const env = { ...clientEnv(), GOBIN: folder };
            await run(go, ['install', '-v', '-ldflags=-s -w', source], { env, signal, ...FETCH });
            return join(folder, built);
          },
        },
      ],
    },
    log,
  );
