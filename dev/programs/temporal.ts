import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientEnv } from '../host.mjs';
import type { Log } from '../start-error.ts';
import { findOrFetch, type ProgramSource } from './find.ts';
import { findGo } from './go.ts';
import { run } from './run.ts';

const ATTEMPT_MS = 20_000;
const DOWNLOAD_MS = 10 * 60_000;
const BUILD_MS = 40 * 60_000;
/**
 * Milliseconds for which a build may print nothing: on a slow machine, compiling a large package or linking takes that
 * long.
 */
const BUILD_SILENCE_MS = 5 * 60_000;
const HEARTBEAT_MS = 20_000;
/**
 * Go package of the temporal CLI. VERSION is its newest tag without a replace directive, which Go does not permit in a
 * dependency. It contains Temporal server 1.29.1 and UI 2.42.
 */
const PACKAGE = 'github.com/temporalio/cli/cmd/temporal';
const VERSION = 'v1.5.1';
/**
 * Version of the SQLite driver to build with. Version 1.34.1, which the build would otherwise use, leaves a statement
 * open when its query is cancelled after the first row. The server then fails every statement with `interrupted (9)`,
 * or its checkpoints are blocked and the write-ahead log grows. Temporal made the same upgrade:
 * https://github.com/temporalio/temporal/pull/9198
 */
const DRIVER = 'modernc.org/sqlite@v1.44.3';

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

const build: ProgramSource = {
  title: 'by building it with Go',
  async fetch(folder, log, signal) {
    const go = await findGo(log, signal);
    log('Building the Temporal server. This happens once and takes about 5 minutes on two cores …');
    const started = Date.now();
    const heartbeat = setInterval(() => {
      log(`  Still building the Temporal server (${Math.round((Date.now() - started) / 1000)} s) …`);
    }, HEARTBEAT_MS);
    const inFolder = (...args: string[]) =>
      run(go, args, {
        env: clientEnv(),
        cwd: folder,
        // Go prints nothing while it resolves the versions of about 300 modules.
        idleMs: BUILD_SILENCE_MS,
        totalMs: BUILD_MS,
        signal,
      });
    try {
      await inFolder('mod', 'init', 'temporal-with-driver');
      await inFolder('get', `${PACKAGE}@${VERSION}`, DRIVER);
      // `-s -w` omits symbols, which makes the program a third smaller. `-v` prints each compiled package, which shows
      // progress.
      await inFolder('build', '-v', '-ldflags=-s -w', '-o', 'temporal', PACKAGE);
    } finally {
      clearInterval(heartbeat);
    }
    return join(folder, 'temporal');
  },
};

/** Returns the path of the `temporal` CLI, which contains Temporal's development server and UI. */
export const findTemporal = (log: Log, signal?: AbortSignal): Promise<string> =>
  findOrFetch(
    {
      name: 'temporal',
      cachedAs: 'temporal-2',
      sources: [download, build],
      help: 'the temporal CLI so that it is on PATH, or Go 1.21 or later to build it, or set TEMPORAL_ADDRESS. If a build timed out, start again: it continues.',
    },
    log,
    signal,
  );
