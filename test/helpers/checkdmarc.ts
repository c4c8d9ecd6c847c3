import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { clientEnv } from '../../dev/host.mjs';
import { findOrFetch, onPath } from '../../dev/programs/find.ts';
import { run } from '../../dev/programs/run.ts';

const VERSION = '6.0.4';
const PRINT_VERSION = 'import importlib.metadata as it; print(it.version("checkdmarc"))';
const LIMITS = { idleMs: 300_000, totalMs: 900_000 };
/** Starts Python with the packages in the folder of this script. */
const START = '#!/bin/sh\nPYTHONPATH="$(dirname "$0")/lib" exec python3 "$@"\n';

/** Path of a Python that has checkdmarc. */
const findCheckdmarc = (log: (line: string) => void): Promise<string> =>
  findOrFetch(
    {
      name: 'python-with-checkdmarc',
      within: 'python',
      version: { args: ['-c', PRINT_VERSION], pattern: /^6\.0\.4$/m },
      help: 'Python 3 with pip.',
      sources: [
        {
          title: 'from PyPI',
          async fetch(folder, _log, signal) {
            const python = await onPath('python3');
            if (python === null) throw new Error('python3 is missing');
            const install = [
              '-m',
              'pip',
              'install',
              '--target',
              join(folder, 'lib'),
              `checkdmarc==${VERSION}`,
            ];
            await run(python, install, { env: clientEnv(), folder, signal, ...LIMITS });
            await writeFile(join(folder, 'python'), START);
            return folder;
          },
        },
      ],
    },
    log,
  );

/** Runs mail_verdicts.py once. @param task its input @returns its output */
export async function askCheckdmarc(task: object, log: (line: string) => void): Promise<unknown> {
  const program = await findCheckdmarc(log);
  const script = fileURLToPath(new URL('./mail_verdicts.py', import.meta.url));
  const child = spawn(program, [script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: 120_000,
  });
  child.stdin.end(JSON.stringify(task));
  return JSON.parse(await text(child.stdout));
}
