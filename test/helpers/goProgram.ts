import { delimiter, dirname, join } from 'node:path';
import { clientEnv } from '../../dev/host.mjs';
import { findOrFetch, type Program } from '../../dev/programs/find.ts';
import { findGo } from '../../dev/programs/go.ts';
import { run } from '../../dev/programs/run.ts';

const FETCH = { idleMs: 300_000, totalMs: 1_800_000 };

interface GoProgram extends Pick<Program, 'name' | 'version'> {
  /** Import path of the program's main package, with the version. */
  source: string;
  /** File name that `go install` gives the program: the last part of the package path. */
  built: string;
}

/**
 * Returns the path of a program written in Go: from PATH, from this user's cache, or built from its Go module.
 */
export const findGoProgram = (
  { name, source, built, ...program }: GoProgram,
  log: (line: string) => void,
): Promise<string> =>
  findOrFetch(
    {
      ...program,
      name,
      help: `${name} so that it is on PATH, or Go to build it.`,
      sources: [
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

/** Returns this PATH with the folder of a Go that is new enough in front, for programs that run `go` themselves. */
export const pathWithGo = async (
  path: string | undefined,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<string> => [dirname(await findGo(log, signal)), path].join(delimiter);
