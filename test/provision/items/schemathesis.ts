import { join } from 'node:path';
import { clientEnv } from '../../../dev/host.mjs';
import { run } from '../../../dev/programs/run.ts';
import { Item } from '../item.ts';
import { FETCH } from '../packages.ts';

const VERSION = '4.4.1';
/** hypothesis is pinned, because later releases lack a method that this release of schemathesis calls. */
const PACKAGES = [`schemathesis==${VERSION}`, 'hypothesis==6.140.3'];
const SHIV = 'shiv==1.0.8';

/** schemathesis, packed with its Python packages into one file by shiv (https://github.com/linkedin/shiv). */
export const schemathesis = new Item({
  name: `schemathesis ${VERSION}`,
  cachedAs: `schemathesis-${VERSION}`,
  usually: 45,
  help: 'Python 3 with pip to fetch it (Debian: apt-get install python3-pip).',
  sources: [
    {
      title: 'from PyPI',
      async fetch(folder, _log, signal) {
        const lib = join(folder, 'lib');
        const program = join(folder, 'schemathesis');
        const options = { env: { ...clientEnv(), PYTHONPATH: lib }, signal, folder, ...FETCH };
        await run('python3', ['-m', 'pip', 'install', '--target', lib, SHIV], options);
        await run('python3', ['-m', 'shiv', '-c', 'schemathesis', '-o', program, ...PACKAGES], options);
        return program;
      },
    },
  ],
});
