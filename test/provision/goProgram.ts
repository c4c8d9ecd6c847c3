import { delimiter, dirname, join } from 'node:path';
import { clientEnv } from '../../dev/host.mjs';
import { run } from '../../dev/programs/run.ts';
import type { Log } from '../../dev/start-error.ts';
import { Item } from './item.ts';
import { go } from './items/go.ts';
import { FETCH } from './packages.ts';

interface GoProgram {
  name: string;
  /** Import path of the program's main package, with the version. */
  source: string;
  /** File name that `go install` gives the program. Default: `name`. */
  built?: string;
  /** Arguments with which the program ends successfully. Default: `--version`. */
  check?: string[];
  usually: number;
}

/** A program that is built from its Go module. */
export const goProgram = ({ name, source, built = name, check, usually }: GoProgram): Item => {
  const version = source.replace(/.*@v?/, '');
  return new Item({
    name: `${name} ${version}`,
    cachedAs: `${name}-${version}`,
    ...(check && { version: { args: check, pattern: /^/ } }),
    usually,
    needs: [go],
    help: 'Go to build it.',
    sources: [
      {
        title: 'by building it with Go',
        async fetch(folder, log, signal) {
          const env = { ...clientEnv(), GOBIN: folder };
          await run(await go.get(log, signal), ['install', '-v', '-ldflags=-s -w', source], {
            env,
            signal,
            ...FETCH,
          });
          return join(folder, built);
        },
      },
    ],
  });
};

/** Returns this PATH with the folder of a Go that is new enough in front, for programs that run `go` themselves. */
export const pathWithGo = async (path: string | undefined, log: Log, signal?: AbortSignal): Promise<string> =>
  [dirname(await go.get(log, signal)), path].join(delimiter);
