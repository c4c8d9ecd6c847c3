import { join } from 'node:path';
import { clientEnv } from '../../dev/host.mjs';
import { findOrFetch, onPath } from '../../dev/programs/find.ts';
import { run } from '../../dev/programs/run.ts';

/** Pinned, because later releases of hypothesis lack a method that this release of schemathesis calls. */
const PACKAGES = ['schemathesis==4.4.1', 'hypothesis==6.140.3'];
const LIMITS = { idleMs: 300_000, totalMs: 900_000 };

/**
 * Returns the path of schemathesis: from PATH, or packed with its Python packages into one file by shiv
 * (https://github.com/linkedin/shiv).
 */
export const findSchemathesis = (log: (line: string) => void): Promise<string> =>
  findOrFetch(
    {
      name: 'schemathesis',
      help: 'schemathesis so that it is on PATH, or Python 3 with pip to fetch it.',
      sources: [
        {
          title: 'from PyPI',
          async fetch(folder, _log, signal) {
            const python = await onPath('python3');
            if (python === null) throw new Error('python3 is missing');
            const lib = join(folder, 'lib');
            const program = join(folder, 'schemathesis');
            const options = { env: { ...clientEnv(), PYTHONPATH: lib }, signal, ...LIMITS };
            await run(python, ['-m', 'pip', 'install', '--target', lib, 'shiv'], options);
            const pack = ['-m', 'shiv', '-c', 'schemathesis', '-o', program, ...PACKAGES];
            await run(python, pack, options);
            return program;
          },
        },
      ],
    },
    log,
  );
